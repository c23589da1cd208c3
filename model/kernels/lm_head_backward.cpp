// Forward and backward of the head, in groups of rows. First in parallel over blocks of rows:
// logits, loss, dz (in place of the logits), dx, and dz and x packed for the weight's gradient.
// Then in parallel over the vocabulary: the chains of dw go on over the group's rows.
#include <algorithm>
#include <cmath>

#include "harness/base/parallel.hpp"
#include "model/kernels/lm_head.hpp"
#include "model/kernels/lm_head_rows.hpp"
#include "model/kernels/matmul.hpp"
#include "model/kernels/vector_math.hpp"

namespace nb::kernels {
namespace {

constexpr std::int64_t kVocabularyStrip = 192;  // whole tiles at every level

void run_plain(ConstMatrix x, ConstMatrix w, std::span<const int> targets, float row_scale,
               std::span<float> losses, Matrix dx, Matrix dw, bool accumulate,
               const LmHeadPolicy& policy) {
  const auto rows = static_cast<std::size_t>(x.rows);
  const Scratch memory((static_cast<std::size_t>(x.rows * w.rows) + 2 * rows) * sizeof(float));
  const Matrix z = matrix(memory.floats(), x.rows, w.rows);
  const std::span max(memory.floats() + z.size(), rows), sum(max.data() + rows, rows);
  matmul_nt(x, w, z, policy.products);
  softcap_cross_entropy(z, targets, losses, {max, sum}, policy.loss);
  softcap_cross_entropy_backward(z, targets, max, sum, row_scale, z, policy.loss);
  matmul_nn(z, w, dx, policy.products);
  matmul_tn(z, x, dw, policy.weight_gradient, accumulate);
}

class Backward {
 public:
  Backward(ConstMatrix x, ConstMatrix w, std::span<const int> targets, float row_scale,
           std::span<float> losses, Matrix dx, Matrix dw, bool accumulate,
           const LmHeadPolicy& policy, std::int64_t group_bytes)
      : table_(inner::table()),
        cap_(head_cap_scalars(policy, false)),
        format_(input_format(table_, policy.products.inputs)),
        gradient_format_(input_format(table_, policy.weight_gradient.inputs)),
        policy_(policy),
        x_(x),
        w_(w),
        targets_(targets),
        row_scale_(row_scale),
        losses_(losses),
        dx_(dx),
        dw_(dw),
        accumulate_(accumulate),
        group_rows_(group_rows(group_bytes)),
        group_steps_(panel_steps(gradient_format_, group_rows_)) {}

  void run() {
    const Product& product = *format_.product;
    const Scratch nt(panel_words(format_, w_.rows, w_.cols, product.cols) * 4);
    const Scratch nn(panel_words(format_, w_.cols, w_.rows, product.cols) * 4);
    w_nn_ = pack_head_nn(format_, w_, nn);
    const HeadRows head(x_, pack_head_nt(format_, w_, nt), w_.rows, policy_, cap_);
    const Product& last = *gradient_format_.product;
    const Scratch dz(panel_words(gradient_format_, w_.rows, group_rows_, last.rows) * 4);
    const Scratch x(panel_words(gradient_format_, w_.cols, group_rows_, last.cols) * 4);
    const bool is_one_group = x_.rows <= group_rows_;
    const std::int64_t sum_stride = round_up(w_.cols, 16);
    const Scratch sums(
        is_one_group ? 0 : static_cast<std::size_t>(w_.rows * sum_stride) * sizeof(float));
    for (std::int64_t begin = 0; begin < x_.rows; begin += group_rows_) {
      const std::int64_t rows = std::min(group_rows_, x_.rows - begin);
      const std::int64_t blocks = (rows + kHeadRows - 1) / kHeadRows;
      parallel_for(static_cast<std::size_t>(blocks), 1, [&](std::size_t block) {
        check_float_mode();
        const std::int64_t at = static_cast<std::int64_t>(block) * kHeadRows;
        run_rows(head, begin + at, std::min(kHeadRows, rows - at), at, dz.words(), x.words());
      });
      const bool is_last = begin + rows == x_.rows;
      parallel_chunks(static_cast<std::size_t>(w_.rows), kVocabularyStrip,
                      [&](std::size_t from, std::size_t to) {
                        check_float_mode();
                        sum_strip(static_cast<std::int64_t>(from), static_cast<std::int64_t>(to),
                                  rows, dz.words(), x.words(),
                                  is_one_group ? nullptr : sums.floats(), begin == 0, is_last);
                      });
    }
  }

 private:
  using Product = inner::Product;

  // Even, so that pairs of rows stay together, and whole blocks.
  std::int64_t group_rows(std::int64_t group_bytes) const {
    const std::int64_t row_bytes = 4 / gradient_format_.product->values_per_step * w_.rows;
    const std::int64_t blocks = std::max<std::int64_t>(1, group_bytes / row_bytes / kHeadRows);
    return std::min(blocks * kHeadRows, x_.rows);
  }

  // Rows [first, first + count) of x, the group's rows from `at` on.
  void run_rows(const HeadRows& head, std::int64_t first, std::int64_t count, std::int64_t at,
                std::uint32_t* dz_panels, std::uint32_t* x_panels) const {
    const Product& product = *format_.product;
    const std::int64_t steps = w_nn_.steps;
    const std::int64_t sum_stride = round_up(w_.cols, 16);
    const Scratch memory(head.floats() * sizeof(float));
    const Scratch packed(panel_words(format_, kHeadRows, w_.rows, product.rows) * 4);
    const Scratch sums(static_cast<std::size_t>(kHeadRows * sum_stride) * sizeof(float));
    float* t = memory.floats();
    HeadRows::Row rows[kHeadRows];
    head.run(first, count, t, rows);
    for (std::int64_t i = 0; i < count; ++i)
      gradient_row(first + i, t + i * head.stride(), rows[i]);
    pack_panels(format_, {t, head.stride(), 1}, count, w_.rows, product.rows, packed.words());
    multiply_panels(format_, count, w_.cols, steps, packed.words(), steps * product.rows,
                    w_nn_.panels, steps * product.cols, sums.floats(), sum_stride,
                    inner::kTileStart);
    const int rounding =
        inner::rounding_of(policy_.products.output, policy_.products.fp16_saturates);
    for (std::int64_t i = 0; i < count; ++i) {
      table_.finish(sums.floats() + i * sum_stride, w_.cols, dx_.row(first + i), rounding, false);
    }
    pack_part({t, 1, head.stride()}, w_.rows, count, at, gradient_format_.product->rows, dz_panels);
    pack_part({x_.row(first), 1, x_.stride}, w_.cols, count, at, gradient_format_.product->cols,
              x_panels);
  }

  void gradient_row(std::int64_t row, float* t, const HeadRows::Row& known) const {
    const int target = targets_[static_cast<std::size_t>(row)];
    float& loss = losses_[static_cast<std::size_t>(row)];
    if (target == kIgnoreTarget) {
      loss = 0.0f;
      return table_.fill(t, w_.rows, 0.0f);
    }
    const float sum = table_.capped_sum(t, w_.rows, cap_, known.max, known.is_calm);
    loss = log(sum) - (table_.capped_value(t[target], cap_) - known.max);
    table_.capped_gradient(t, w_.rows, target, known.max, sum, row_scale_, cap_,
                           known.is_calm && std::isfinite(row_scale_));
  }

  // The group's values of k from `at` on, into each panel.
  void pack_part(const Operand& source, std::int64_t p_count, std::int64_t count, std::int64_t at,
                 int width, std::uint32_t* panels) const {
    const std::int64_t first_step = panel_steps(gradient_format_, at);
    for (std::int64_t p = 0; p < p_count; p += width) {
      pack_panels(gradient_format_, source.from(p, 0), std::min<std::int64_t>(width, p_count - p),
                  count, width, panels + p * group_steps_ + first_step * width);
    }
  }

  // dw's rows [from, to) go on over the group's rows; sums (V, C padded) holds them between groups.
  void sum_strip(std::int64_t from, std::int64_t to, std::int64_t rows, const std::uint32_t* dz,
                 const std::uint32_t* x, float* sums, bool is_first, bool is_last) const {
    const Product& product = *gradient_format_.product;
    const std::int64_t sum_stride = round_up(w_.cols, 16);
    const Scratch own(sums == nullptr
                          ? static_cast<std::size_t>(kVocabularyStrip * sum_stride) * sizeof(float)
                          : 0);
    float* strip = sums == nullptr ? own.floats() : sums + from * sum_stride;
    multiply_panels(gradient_format_, to - from, w_.cols, panel_steps(gradient_format_, rows),
                    dz + from * group_steps_, group_steps_ * product.rows, x,
                    group_steps_ * product.cols, strip, sum_stride,
                    is_first ? inner::kTileStart : inner::kTileContinue);
    if (!is_last) return;
    const int rounding =
        inner::rounding_of(policy_.weight_gradient.output, policy_.weight_gradient.fp16_saturates);
    for (std::int64_t row = from; row < to; ++row) {
      table_.finish(strip + (row - from) * sum_stride, w_.cols, dw_.row(row), rounding,
                    accumulate_);
    }
  }

  const inner::Table& table_;
  inner::CapScalars cap_;
  InputFormat format_, gradient_format_;
  const LmHeadPolicy& policy_;
  ConstMatrix x_, w_;
  std::span<const int> targets_;
  float row_scale_;
  std::span<float> losses_;
  Matrix dx_, dw_;
  bool accumulate_;
  std::int64_t group_rows_, group_steps_;
  HeadWeight w_nn_{};
};

}  // namespace

void lm_head_loss_and_backward(ConstMatrix x, ConstMatrix w, std::span<const int> targets,
                               float row_scale, std::span<float> losses, Matrix dx, Matrix dw,
                               bool accumulate, const LmHeadPolicy& policy,
                               std::int64_t group_bytes) {
  check_head("lm_head_backward", x, w, targets, losses.size());
  NB_CHECK(same_shape(x, dx) && same_shape(w, dw),
           "[lm_head_backward] x ({},{}), dx ({},{}), w ({},{}), dw ({},{})", x.rows, x.cols,
           dx.rows, dx.cols, w.rows, w.cols, dw.rows, dw.cols);
  if (!head_works_in_blocks(policy) || x.rows == 0) {
    return run_plain(x, w, targets, row_scale, losses, dx, dw, accumulate, policy);
  }
  Backward(x, w, targets, row_scale, losses, dx, dw, accumulate, policy, group_bytes).run();
}

}  // namespace nb::kernels
