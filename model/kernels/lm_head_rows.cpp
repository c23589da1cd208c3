#include "model/kernels/lm_head_rows.hpp"

#include <algorithm>

#include "model/kernels/fetch_ahead.hpp"

namespace nb::kernels {
namespace {

constexpr std::int64_t kStrip = 512;  // logits of a row that are capped while still in L1
}  // namespace

bool head_works_in_blocks(const LmHeadPolicy& policy) {
  return policy.products.accumulation == Accumulation::kChain &&
         policy.weight_gradient.accumulation == Accumulation::kChain;
}

void check_head(const char* op, ConstMatrix x, ConstMatrix w, std::span<const int> targets,
                std::size_t per_row) {
  NB_CHECK(x.cols == w.cols, "[{}] x is ({},{}), w (V,C) ({},{})", op, x.rows, x.cols, w.rows,
           w.cols);
  NB_CHECK(std::ssize(targets) == x.rows && per_row == targets.size(),
           "[{}] {} targets and {} results for {} rows", op, targets.size(), per_row, x.rows);
  for (std::size_t i = 0; i < targets.size(); ++i) {
    NB_CHECK(targets[i] >= kIgnoreTarget && targets[i] < w.rows,
             "[{}] target {} at row {} is outside [-1, {})", op, targets[i], i, w.rows);
  }
}

int tile_finish(int rounding, bool accumulate) {
  switch (rounding) {
    case inner::kRoundNone:
      return accumulate ? inner::kFinishFp32Add : inner::kFinishFp32;
    case inner::kRoundBf16:
      return accumulate ? inner::kFinishBf16Add : inner::kFinishBf16;
    default:
      return inner::kFinishRaw;
  }
}

std::size_t row_words(std::int64_t steps) {
  const std::int64_t blocks = (steps + inner::kGemmSteps - 1) / inner::kGemmSteps;
  return static_cast<std::size_t>(blocks * kHeadRows * inner::kGemmRowWords);
}

void pack_head_rows(const GemmFormat& format, const float* data, std::int64_t stride,
                    std::int64_t rows, std::int64_t k_count, std::uint32_t* words) {
  const inner::Gemm& gemm = *format.gemm;
  const std::int64_t block = inner::kGemmSteps * gemm.values_per_step;
  for (std::int64_t k = 0; k < k_count; k += block) {
    const std::int64_t count = std::min(block, k_count - k);
    gemm.pack_rows(data + k, stride, rows, count, format.steps(count), format.rounding,
                   format.swaps_pairs, words);
    words += kHeadRows * inner::kGemmRowWords;
  }
}

HeadPanels::HeadPanels(const HeadWeight& w, PackFor use, const GemmFormat& format,
                       const MatmulPolicy& policy) {
  const bool by_rows = use == PackFor::kNt;
  if (const PackedMatrix* kept = by_rows ? w.nt : w.nn; kept != nullptr) {
    const ConstMatrix all = w.matrix;
    NB_CHECK(kept->suits(use, policy) && kept->rows() == all.rows && kept->cols() == all.cols,
             "[lm_head] w is ({},{}), packed ({},{})", all.rows, all.cols, kept->rows(),
             kept->cols());
    words_ = packed_panels(*kept);
    panel_words_ = format.panel_words(by_rows ? all.cols : all.rows);
    return;
  }
  const ConstMatrix m = w.tokens();
  const std::int64_t n = by_rows ? m.rows : m.cols, k = by_rows ? m.cols : m.rows;
  own_.emplace(panels_bytes(format, n, k));
  pack_all_panels(format, by_rows ? Operand{m.data, m.stride, 1} : Operand{m.data, 1, m.stride}, n,
                  k, own_->words());
  words_ = own_->words();
  panel_words_ = format.panel_words(k);
}

void multiply_words(const GemmFormat& format, std::int64_t rows, std::int64_t cols,
                    std::int64_t steps, const std::uint32_t* words, const std::uint32_t* panels,
                    std::int64_t panel_words, float* c, std::int64_t stride, int finish) {
  const inner::Gemm& gemm = *format.gemm;
  const std::int64_t tiles = (rows + gemm.rows - 1) / gemm.rows;  // rows are spread evenly
  const std::int64_t panel = gemm.cols / 16, widest = gemm.vectors[(rows + tiles - 1) / tiles];
  inner::GemmTile t = {};
  t.b_panel = panel_words;
  t.start_stride = t.out_stride = stride;
  for (std::int64_t first = 0; first < steps; first += inner::kGemmSteps) {
    t.steps = std::min(inner::kGemmSteps, steps - first);
    t.finish = first + t.steps == steps ? finish : inner::kFinishRaw;
    for (std::int64_t j = 0; j < cols;) {
      const std::int64_t left = (cols - j + 15) / 16;
      const std::int64_t vectors = left >= widest ? widest : std::min(left, panel);
      t.b = panels + j / gemm.cols * t.b_panel + j % gemm.cols + first * gemm.cols;
      // The panel beside, or the first one further along k, or what follows these columns.
      const bool is_last = j + 16 * vectors >= cols && first + t.steps < steps;
      inner::Fetch next = fetch_ahead(
          gemm,
          {is_last ? panels + (first + t.steps) * gemm.cols
                   : panels + (j + 16 * vectors) / gemm.cols * t.b_panel + first * gemm.cols,
           1, t.steps * gemm.cols, 0},
          tiles * t.steps);
      t.fetch[0] = &next;
      for (std::int64_t i = 0; i < tiles; ++i) {
        const std::int64_t row = rows * i / tiles;
        t.a = words + row * inner::kGemmRowWords;
        t.out = c + row * stride + j;
        t.start = first > 0 ? t.out : nullptr;
        gemm.tile(static_cast<int>(rows * (i + 1) / tiles - row), static_cast<int>(vectors), t);
      }
      j += 16 * vectors;
    }
    words += kHeadRows * inner::kGemmRowWords;
  }
}

// A row's stride is an odd number of cache lines, so that a column of a block does not fall into
// one set of the cache.
HeadRows::HeadRows(ConstMatrix x, const std::uint32_t* panels, std::int64_t vocabulary,
                   const LmHeadPolicy& policy, const inner::CapScalars& cap)
    : table_(inner::table()),
      format_(gemm_format(policy.products.inputs)),
      x_(x),
      panels_(panels),
      steps_(format_.steps(x.cols)),
      panel_words_(format_.panel_words(x.cols)),
      vocabulary_(vocabulary),
      stride_((round_up(vocabulary, 16) / 16 | 1) * 16),
      product_rounding_(inner::rounding_of(policy.products.output, policy.products.fp16_saturates)),
      cap_(cap) {}

std::size_t HeadRows::floats() const {
  return static_cast<std::size_t>(kHeadRows * stride_) + row_words(steps_);
}

void HeadRows::run(std::int64_t first, std::int64_t count, float* memory, Row* rows) const {
  float* logits = memory;
  auto* words = reinterpret_cast<std::uint32_t*>(memory + kHeadRows * stride_);
  pack_head_rows(format_, x_.row(first), x_.stride, count, x_.cols, words);
  const int finish = tile_finish(product_rounding_, false);
  inner::CapRow known[kHeadRows];
  std::fill(known, known + count, fresh_row(cap_));
  for (std::int64_t col = 0; col < vocabulary_; col += kStrip) {
    const std::int64_t cols = std::min(kStrip, vocabulary_ - col);
    multiply_words(format_, count, cols, steps_, words,
                   panels_ + col / format_.gemm->cols * panel_words_, panel_words_, logits + col,
                   stride_, finish);
    for (std::int64_t i = 0; i < count; ++i) {
      float* row = logits + i * stride_ + col;
      if (finish == inner::kFinishRaw) table_.finish(row, cols, row, product_rounding_, false);
      table_.cap_logits(row, cols, cap_, &known[i]);
    }
  }
  for (std::int64_t i = 0; i < count; ++i)
    rows[i] = {table_.largest_capped(known[i]), known[i].is_ordinary};
}

}  // namespace nb::kernels
