// The language-model head as one kernel: logits = x wᵀ, soft-cap, cross-entropy and the gradients,
// worked off in blocks of rows whose logits stay in the cache; no (rows, V) array of floats exists.
// Bits are those of the separate kernels, one after the other:
//   z = matmul_nt(x, w, products); losses, m, s = softcap_cross_entropy(z);
//   dz = softcap_cross_entropy_backward(z, m, s, dlosses);
//   dx = matmul_nn(dz, w, products);  dw (+)= matmul_tn(dz, x, weight_gradient).
// x (rows, C), w (V,C), targets and losses: one per row, target -1: ignored. Parallel inside.
// Rows of w behind the tokens are padding, finite: their logits are left out, their dz is zero.
#pragma once

#include <cstdint>
#include <span>

#include "model/kernels/cross_entropy.hpp"
#include "model/kernels/matmul.hpp"
#include "model/kernels/policy.hpp"
#include "model/tensor/view.hpp"

namespace nb::kernels {

struct LmHeadPolicy {
  MatmulPolicy products;
  MatmulPolicy weight_gradient;
  CrossEntropySettings loss;
};

// The weight, and its packed forms where the caller keeps them; null: packed for the call. vocab:
// rows that are tokens, the first ones; 0: all.
struct HeadWeight {
  ConstMatrix matrix;
  const PackedMatrix* nt = nullptr;
  const PackedMatrix* nn = nullptr;
  std::int64_t vocab = 0;

  // NOLINTNEXTLINE(google-explicit-constructor): a weight that nobody packed
  HeadWeight(ConstMatrix w) : matrix(w) {}
  HeadWeight(ConstMatrix w, const PackedMatrix* by_rows, const PackedMatrix* by_columns,
             std::int64_t tokens = 0)
      : matrix(w), nt(by_rows), nn(by_columns), vocab(tokens) {}

  ConstMatrix tokens() const { return vocab == 0 ? matrix : row_block(matrix, 0, vocab); }
};

void lm_head_losses(ConstMatrix x, const HeadWeight& w, std::span<const int> targets,
                    std::span<float> losses, const LmHeadPolicy& policy);

// dx (rows, C); dw (V,C), added to when accumulate (rows of padding stay, else they become zero).
// dlosses: gradient of each loss. group_bytes: of packed dz that waits for the weight's gradient,
// more or less: groups are of one size. Changes no bit.
void lm_head_loss_and_backward(ConstMatrix x, const HeadWeight& w, std::span<const int> targets,
                               const LossGradients& dlosses, std::span<float> losses, Matrix dx,
                               Matrix dw, bool accumulate, const LmHeadPolicy& policy,
                               std::int64_t group_bytes = 16 << 20);

// score_targets() of the logits; where the target is -1: log_prob +0, argmax -1 and no work.
// argmax may be empty.
void lm_head_scores(ConstMatrix x, const HeadWeight& w, std::span<const int> targets,
                    std::span<float> log_probs, std::span<int> argmax, const LmHeadPolicy& policy);

}  // namespace nb::kernels
