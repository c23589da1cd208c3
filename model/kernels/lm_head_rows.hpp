// One block of rows of the language-model head: logits by register tiles, soft-cap strip by strip,
// maxima. Shared by lm_head.cpp and lm_head_backward.cpp; internal to model/kernels.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "model/kernels/cap_scalars.hpp"
#include "model/kernels/gemm.hpp"
#include "model/kernels/lm_head.hpp"
#include "model/kernels/row_loop.hpp"
#include "model/kernels/scratch.hpp"

namespace nb::kernels {

// Rows of a block: whole tiles at every level, even, and few enough that their logits fit L2 at the
// vocabularies that we train with.
inline constexpr std::int64_t kHeadRows = 36;

// Whether the policy's sums are single chains, as the blocks need; otherwise the separate kernels
// run.
bool head_works_in_blocks(const LmHeadPolicy& policy);

inline inner::CapScalars head_cap_scalars(const LmHeadPolicy& policy, bool rounds_capped) {
  return cap_scalars(policy.loss, rounds_capped, policy.products.output == DType::kBf16);
}

void check_head(const char* op, ConstMatrix x, ConstMatrix w, std::span<const int> targets,
                std::size_t per_row);

// What a tile does with sums that are rounded so: raw where the table's finish() must follow.
int tile_finish(int rounding, bool accumulate);

// Panels of w's tokens for one kind of product (of padding behind them, maybe): those that the
// caller keeps, or packed here, in scratch memory: what is taken after it must be given back before
// it dies.
class HeadPanels {
 public:
  HeadPanels(const HeadWeight& w, PackFor use, const GemmFormat& format,
             const MatmulPolicy& policy);
  const std::uint32_t* words() const { return words_; }
  std::int64_t panel_words() const { return panel_words_; }  // from one panel to the next

 private:
  std::optional<Scratch> own_;
  const std::uint32_t* words_;
  std::int64_t panel_words_;
};

// Blocks of rows of words (inner::Gemm) over whole chains of `steps`: kHeadRows rows of a block of
// kGemmSteps, then those of the next.
std::size_t row_words(std::int64_t steps);
void pack_head_rows(const GemmFormat& format, const float* data, std::int64_t stride,
                    std::int64_t rows, std::int64_t k_count, std::uint32_t* words);

// c (rows, cols rounded up to 16) = finished sums of whole chains: rows of words × columns of
// panels. panels: from the first column on, which is a panel's first.
void multiply_words(const GemmFormat& format, std::int64_t rows, std::int64_t cols,
                    std::int64_t steps, const std::uint32_t* words, const std::uint32_t* panels,
                    std::int64_t panel_words, float* c, std::int64_t stride, int finish);

class HeadRows {
 public:
  // panels: w's rows as the columns of x wᵀ.
  HeadRows(ConstMatrix x, const std::uint32_t* panels, std::int64_t vocabulary,
           const LmHeadPolicy& policy, const inner::CapScalars& cap);

  // Floats that one block needs: logits, then packed rows of x.
  std::size_t floats() const;
  std::int64_t stride() const { return stride_; }  // of a row of logits

  struct Row {
    float max;
    bool is_ordinary;
  };
  // t (kernels/inner: capped.cpp) of `count` rows from x's row `first` on. memory: floats().
  void run(std::int64_t first, std::int64_t count, float* memory, Row* rows) const;

 private:
  const inner::Table& table_;
  GemmFormat format_;
  ConstMatrix x_;
  const std::uint32_t* panels_;
  std::int64_t steps_, panel_words_, vocabulary_, stride_;
  int product_rounding_;
  inner::CapScalars cap_;
};

}  // namespace nb::kernels
