// One block of rows of the language-model head: logits by register tiles, soft-cap strip by strip,
// maxima. Shared by lm_head.cpp and lm_head_backward.cpp; internal to model/kernels.
#pragma once

#include <cstdint>
#include <span>

#include "model/kernels/cap_scalars.hpp"
#include "model/kernels/lm_head.hpp"
#include "model/kernels/panels.hpp"
#include "model/kernels/row_loop.hpp"
#include "model/kernels/scratch.hpp"

namespace nb::kernels {

// Rows of a block: whole tiles at every level, even, and few enough that their logits fit L2 at the
// vocabularies that we train with.
inline constexpr std::int64_t kHeadRows = 24;

// Whether the policy's sums are single chains, as the blocks need; otherwise the separate kernels
// run.
bool head_works_in_blocks(const LmHeadPolicy& policy);

inline inner::CapScalars head_cap_scalars(const LmHeadPolicy& policy, bool rounds_capped) {
  return cap_scalars(policy.loss, rounds_capped, policy.products.output == DType::kBf16);
}

void check_head(const char* op, ConstMatrix x, ConstMatrix w, std::span<const int> targets,
                std::size_t per_row);

// Words of packed panels.
std::size_t panel_words(const InputFormat& format, std::int64_t p_count, std::int64_t k_count,
                        int width);

// Both packings of w, made once a call. Steps are per panel.
struct HeadWeight {
  const std::uint32_t* panels;
  std::int64_t steps;
};
// w (V,C) as the right operand of x wᵀ (k = C), or of dz w (k = V).
HeadWeight pack_head_nt(const InputFormat& format, ConstMatrix w, const Scratch& memory);
HeadWeight pack_head_nn(const InputFormat& format, ConstMatrix w, const Scratch& memory);

class HeadRows {
 public:
  HeadRows(ConstMatrix x, const HeadWeight& w, std::int64_t vocabulary, const LmHeadPolicy& policy,
           const inner::CapScalars& cap);

  // Floats that one block needs: logits, then packed rows of x.
  std::size_t floats() const;
  std::int64_t stride() const { return stride_; }  // of a row of logits

  struct Row {
    float max;
    bool is_calm;
  };
  // t (kernels/inner: capped.cpp) of `count` rows from x's row `first` on. memory: floats().
  void run(std::int64_t first, std::int64_t count, float* memory, Row* rows) const;

 private:
  const inner::Table& table_;
  InputFormat format_;
  ConstMatrix x_;
  HeadWeight w_;
  std::int64_t vocabulary_, stride_;
  int product_rounding_;
  inner::CapScalars cap_;
};

}  // namespace nb::kernels
