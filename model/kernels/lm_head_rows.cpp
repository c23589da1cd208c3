#include "model/kernels/lm_head_rows.hpp"

#include <algorithm>

#include "harness/base/parallel.hpp"

namespace nb::kernels {
namespace {

constexpr std::int64_t kStrip = 512;  // logits of a row that are capped while still in L1
constexpr std::int64_t kPanelsAtOnce = 4;

HeadWeight pack(const InputFormat& format, const Operand& w, std::int64_t p_count,
                std::int64_t k_count, const Scratch& memory) {
  const int width = format.product->cols;
  const std::int64_t steps = panel_steps(format, k_count);
  const auto columns = static_cast<std::size_t>(p_count);
  parallel_chunks(columns, static_cast<std::size_t>(kPanelsAtOnce * width),
                  [&](std::size_t begin, std::size_t end) {
                    check_float_mode();
                    const auto first = static_cast<std::int64_t>(begin);
                    pack_panels(format, w.from(first, 0), static_cast<std::int64_t>(end) - first,
                                k_count, width, memory.words() + first * steps);
                  });
  return {memory.words(), steps};
}

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

std::size_t panel_words(const InputFormat& format, std::int64_t p_count, std::int64_t k_count,
                        int width) {
  return static_cast<std::size_t>(round_up(p_count, width) * panel_steps(format, k_count));
}

HeadWeight pack_head_nt(const InputFormat& format, ConstMatrix w, const Scratch& memory) {
  return pack(format, {w.data, w.stride, 1}, w.rows, w.cols, memory);
}

HeadWeight pack_head_nn(const InputFormat& format, ConstMatrix w, const Scratch& memory) {
  return pack(format, {w.data, 1, w.stride}, w.cols, w.rows, memory);
}

// A row's stride is an odd number of cache lines, so that a column of a block does not fall into
// one set of the cache.
HeadRows::HeadRows(ConstMatrix x, const HeadWeight& w, std::int64_t vocabulary,
                   const LmHeadPolicy& policy, const inner::CapScalars& cap)
    : table_(inner::table()),
      format_(input_format(table_, policy.products.inputs)),
      x_(x),
      w_(w),
      vocabulary_(vocabulary),
      stride_((round_up(vocabulary, format_.product->cols) / 16 | 1) * 16),
      product_rounding_(inner::rounding_of(policy.products.output, policy.products.fp16_saturates)),
      cap_(cap) {}

std::size_t HeadRows::floats() const {
  return static_cast<std::size_t>(kHeadRows * stride_) +
         panel_words(format_, kHeadRows, x_.cols, format_.product->rows);
}

void HeadRows::run(std::int64_t first, std::int64_t count, float* memory, Row* rows) const {
  float* logits = memory;
  auto* packed = reinterpret_cast<std::uint32_t*>(memory + kHeadRows * stride_);
  pack_panels(format_, {x_.row(first), x_.stride, 1}, count, x_.cols, format_.product->rows,
              packed);
  inner::CapRow known[kHeadRows];
  std::fill(known, known + count, fresh_row(cap_));
  for (std::int64_t col = 0; col < vocabulary_; col += kStrip) {
    const std::int64_t cols = std::min(kStrip, vocabulary_ - col);
    multiply_panels(format_, count, cols, w_.steps, packed, w_.steps * format_.product->rows,
                    w_.panels + col * w_.steps, w_.steps * format_.product->cols, logits + col,
                    stride_, inner::kTileStart);
    for (std::int64_t i = 0; i < count; ++i) {
      float* row = logits + i * stride_ + col;
      table_.finish(row, cols, row, product_rounding_, false);
      table_.cap_logits(row, cols, cap_, &known[i]);
    }
  }
  for (std::int64_t i = 0; i < count; ++i)
    rows[i] = {table_.largest_capped(known[i]), known[i].is_calm};
}

}  // namespace nb::kernels
