// Soft-cap and cross-entropy over rows of logits, for any block of rows (no full (B,T,V) needed).
// Soft-cap z of a logit x (cap 0: z = x):
//   eager: t = round(tanh(round(x / cap))), z = round(t * cap)    each to storage
//   fused: t = tanh(x / cap), z = t * cap in fp32 (softcap() itself rounds its output once)
//   in_fp32: the same of both, and nothing rounds z: the logits were upcast before
// Row r with target y: m = max z (16 lanes, NaN never greater), s = Σ exp(z - m) (16 lanes, fixed
// tree),
//   loss = log(s) - (z_y - m).   A target of -1 is ignored: loss +0, gradient +0. Other targets
//   outside [0, V) fail NB_CHECK.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "model/kernels/matmul.hpp"
#include "model/kernels/policy.hpp"
#include "model/tensor/view.hpp"

namespace nb::kernels {

inline constexpr int kIgnoreTarget = -1;

struct CrossEntropySettings {
  float softcap = 15.0f;  // 0: none
  PointwisePolicy pointwise = {};
  bool in_fp32 = false;
};

// Saved for backward besides the logits: one m and one s per row. Empty spans: not saved.
struct CrossEntropySaved {
  std::span<float> row_max;
  std::span<float> row_sum;
};

// Gradient of each row's loss: one number for all rows, or one each.
class LossGradients {
 public:
  // NOLINTNEXTLINE(google-explicit-constructor): the usual case, a mean
  LossGradients(float of_all) : of_all_(of_all) {}
  // NOLINTNEXTLINE(google-explicit-constructor): as many as there are rows
  LossGradients(std::span<const float> of_rows) : of_rows_(of_rows) {}

  float of(std::size_t row) const { return of_rows_.empty() ? of_all_ : of_rows_[row]; }
  bool fit(std::size_t rows) const { return of_rows_.empty() || of_rows_.size() == rows; }

 private:
  float of_all_ = 0;
  std::span<const float> of_rows_;
};

// losses: one per row, fp32. The mean over valid rows is the caller's (sum in double, in row
// order).
void softcap_cross_entropy(ConstMatrix logits, std::span<const int> targets,
                           std::span<float> losses, const CrossEntropySaved& saved,
                           const CrossEntropySettings& settings);

// dz = (exp(z - m) / s - [column = y]) * dloss, the gradient of the row's loss (of a mean: 1 /
// valid rows). Then
//   eager: g = round(dz); g = round(g * cap); g = round(g * fma(-t, t, 1)); dlogits = round(g /
//   cap), in_fp32 with the last rounding alone
//   fused: dlogits = round(dz * fma(-t, t, 1))
// (no cap: dlogits = round(dz)). dlogits may be logits.
void softcap_cross_entropy_backward(ConstMatrix logits, std::span<const int> targets,
                                    std::span<const float> row_max, std::span<const float> row_sum,
                                    const LossGradients& dlosses, Matrix dlogits,
                                    const CrossEntropySettings& settings);

// Of logits that are the columns [first, first + V) of wider rows (a vocabulary that ranks share),
// targets counted in the whole. In the order of their use, what lies between is the caller's:
// row_max: m of the part; at_target: z_y where the part has the target, else +0.
void softcap_part_max(ConstMatrix logits, std::span<const int> targets, std::int64_t first,
                      std::span<float> row_max, std::span<float> at_target,
                      const CrossEntropySettings& settings);
// Σ exp(z - m) of the part, m of the whole row.
void softcap_part_sum(ConstMatrix logits, std::span<const float> row_max, std::span<float> row_sum,
                      const CrossEntropySettings& settings);
// The part's columns of softcap_cross_entropy_backward(), m and s of the whole rows.
void softcap_part_backward(ConstMatrix logits, std::span<const int> targets, std::int64_t first,
                           std::span<const float> row_max, std::span<const float> row_sum,
                           float dloss, Matrix dlogits, const CrossEntropySettings& settings);

// Inference: the capped logits, rounded to storage (in_fp32: not). out may be logits.
void softcap(ConstMatrix logits, Matrix out, const CrossEntropySettings& settings);
// The same of a block of them, on the calling thread.
void softcap_block(ConstMatrix logits, Matrix out, const ProductBlock& block,
                   const CrossEntropySettings& settings);

// Scoring of evaluators: log_probs[r] = -loss of row r (of z rounded to storage in both modes,
// since that is what an uncompiled model returns; in_fp32: not rounded); argmax[r]: first index of
// the largest z, NaN never greater (all NaN: 0). A target of -1: log_prob +0. Either span may be
// empty.
void score_targets(ConstMatrix logits, std::span<const int> targets, std::span<float> log_probs,
                   std::span<int> argmax, const CrossEntropySettings& settings);

}  // namespace nb::kernels
