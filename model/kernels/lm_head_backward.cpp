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

constexpr std::int64_t kVocabularyStrip = 128;  // whole panels at every level

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
        format_(gemm_format(policy.products.inputs)),
        gradient_format_(gemm_format(policy.weight_gradient.inputs)),
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
        group_words_(gradient_format_.panel_words(group_rows_)) {}

  void run() {
    const Scratch nt(panels_bytes(format_, w_.rows, w_.cols));
    const Scratch nn(panels_bytes(format_, w_.cols, w_.rows));
    pack_all_panels(format_, {w_.data, w_.stride, 1}, w_.rows, w_.cols, nt.words());
    pack_all_panels(format_, {w_.data, 1, w_.stride}, w_.cols, w_.rows, nn.words());
    w_nn_ = nn.words();
    const HeadRows head(x_, nt.words(), w_.rows, policy_, cap_);
    const Scratch dz(panels_bytes(gradient_format_, w_.rows, group_rows_));
    const Scratch x(panels_bytes(gradient_format_, w_.cols, group_rows_));
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
  // Even, so that pairs of rows stay together, and whole blocks.
  std::int64_t group_rows(std::int64_t group_bytes) const {
    const std::int64_t row_bytes = 4 / gradient_format_.gemm->values_per_step * w_.rows;
    const std::int64_t blocks = std::max<std::int64_t>(1, group_bytes / row_bytes / kHeadRows);
    return std::min(blocks * kHeadRows, x_.rows);
  }

  // Rows [first, first + count) of x, the group's rows from `at` on.
  void run_rows(const HeadRows& head, std::int64_t first, std::int64_t count, std::int64_t at,
                std::uint32_t* dz_panels, std::uint32_t* x_panels) const {
    const std::int64_t steps = format_.steps(w_.rows), sum_stride = round_up(w_.cols, 16);
    const Scratch memory(head.floats() * sizeof(float));
    const Scratch words(row_words(steps) * 4);
    const Scratch sums(static_cast<std::size_t>(kHeadRows * sum_stride) * sizeof(float));
    float* t = memory.floats();
    HeadRows::Row rows[kHeadRows];
    head.run(first, count, t, rows);
    for (std::int64_t i = 0; i < count; ++i)
      gradient_row(first + i, t + i * head.stride(), rows[i]);
    pack_head_rows(format_, t, head.stride(), count, w_.rows, words.words());
    multiply_words(format_, count, w_.cols, steps, words.words(), w_nn_,
                   format_.panel_words(w_.rows), sums.floats(), sum_stride, inner::kFinishRaw);
    const int rounding =
        inner::rounding_of(policy_.products.output, policy_.products.fp16_saturates);
    for (std::int64_t i = 0; i < count; ++i) {
      table_.finish(sums.floats() + i * sum_stride, w_.cols, dx_.row(first + i), rounding, false);
    }
    pack_part(t, head.stride(), w_.rows, count, at, dz_panels);
    pack_part(x_.row(first), x_.stride, w_.cols, count, at, x_panels);
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
    table_.capped_gradient(t, w_.rows, target, {known.max, sum, row_scale_}, cap_,
                           known.is_calm && std::isfinite(row_scale_));
  }

  // `count` rows of a source, the group's values of k from `at` on, into each panel of columns.
  void pack_part(const float* rows, std::int64_t stride, std::int64_t columns, std::int64_t count,
                 std::int64_t at, std::uint32_t* panels) const {
    const inner::Gemm& gemm = *gradient_format_.gemm;
    gemm.pack_panels(rows, stride, false, columns, count, gradient_format_.steps(count),
                     gradient_format_.rounding, gradient_format_.swaps_pairs, group_words_,
                     panels + gradient_format_.steps(at) * gemm.cols);
  }

  // dw's rows [from, to) go on over the group's rows; sums (V, C padded) holds them between groups,
  // null: there is one group alone.
  void sum_strip(std::int64_t from, std::int64_t to, std::int64_t rows, const std::uint32_t* dz,
                 const std::uint32_t* x, float* sums, bool is_first, bool is_last) const {
    const std::int64_t sum_stride = round_up(w_.cols, 16);
    const Scratch own(sums == nullptr
                          ? static_cast<std::size_t>(kVocabularyStrip * sum_stride) * sizeof(float)
                          : 0);
    float* strip = sums == nullptr ? own.floats() : sums + from * sum_stride;
    const std::int64_t width = gradient_format_.gemm->cols;
    for (std::int64_t row = from; row < to; row += width) {
      sum_panel(std::min(width, to - row), gradient_format_.steps(rows),
                dz + row / width * group_words_, x, strip + (row - from) * sum_stride, is_first);
    }
    if (!is_last) return;
    const int rounding =
        inner::rounding_of(policy_.weight_gradient.output, policy_.weight_gradient.fp16_saturates);
    for (std::int64_t row = from; row < to; ++row) {
      table_.finish(strip + (row - from) * sum_stride, w_.cols, dw_.row(row), rounding,
                    accumulate_);
    }
  }

  // One panel of dz's columns × all panels of x.
  void sum_panel(std::int64_t rows, std::int64_t steps, const std::uint32_t* dz,
                 const std::uint32_t* x, float* sums, bool is_first) const {
    const inner::Gemm& gemm = *gradient_format_.gemm;
    const std::int64_t stride = round_up(w_.cols, 16), tiles = (rows + gemm.rows - 1) / gemm.rows;
    inner::GemmTile t = {};
    t.b_panel = group_words_;
    t.start_stride = t.out_stride = stride;
    t.finish = inner::kFinishRaw;
    for (std::int64_t first = 0; first < steps; first += inner::kGemmSteps) {
      t.steps = std::min(inner::kGemmSteps, steps - first);
      for (std::int64_t j = 0; j < w_.cols; j += gemm.cols) {
        const std::int64_t vectors = (std::min<std::int64_t>(gemm.cols, w_.cols - j) + 15) / 16;
        t.b = x + j / gemm.cols * group_words_ + first * gemm.cols;
        for (std::int64_t i = 0; i < tiles; ++i) {
          const std::int64_t row = rows * i / tiles;
          t.a = dz + first * gemm.cols + row;
          t.out = sums + row * stride + j;
          t.start = is_first && first == 0 ? nullptr : t.out;
          gemm.tile_turned(static_cast<int>(rows * (i + 1) / tiles - row),
                           static_cast<int>(vectors), t);
        }
      }
    }
  }

  const inner::Table& table_;
  inner::CapScalars cap_;
  GemmFormat format_, gradient_format_;
  const LmHeadPolicy& policy_;
  ConstMatrix x_, w_;
  std::span<const int> targets_;
  float row_scale_;
  std::span<float> losses_;
  Matrix dx_, dw_;
  bool accumulate_;
  std::int64_t group_rows_;
  std::int64_t group_words_;             // from one panel of the group's to the next
  const std::uint32_t* w_nn_ = nullptr;  // panels of w as the right operand of dz w
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
