// Forward and backward of the head, in groups of rows. First in parallel over blocks of rows:
// logits, loss, dz (in place of the logits), dx, and dz and x packed for the weight's gradient.
// Then in parallel over the vocabulary: the chains of dw go on over the group's rows.
#include <algorithm>

#include "harness/base/parallel.hpp"
#include "model/kernels/fetch_ahead.hpp"
#include "model/kernels/lm_head.hpp"
#include "model/kernels/lm_head_rows.hpp"
#include "model/kernels/matmul.hpp"
#include "model/kernels/vector_math.hpp"

namespace nb::kernels {
namespace {

constexpr std::int64_t kVocabularyStrip = 128;  // whole panels at every level
// Of a strip's sums at a time: these steps of x's panels stay in L2 while the strip takes them.
constexpr std::int64_t kSumSteps = 128;

void run_plain(ConstMatrix x, const HeadWeight& weight, std::span<const int> targets,
               const LossGradients& dlosses, std::span<float> losses, Matrix dx, Matrix dw,
               bool accumulate, const LmHeadPolicy& policy) {
  const ConstMatrix w = weight.matrix;
  const auto rows = static_cast<std::size_t>(x.rows);
  const Scratch memory((static_cast<std::size_t>(x.rows * w.rows) + 2 * rows) * sizeof(float));
  const Matrix all = matrix(memory.floats(), x.rows, w.rows);
  const std::span max(memory.floats() + all.size(), rows), sum(max.data() + rows, rows);
  matmul_nt(x, w, all, policy.products);
  const std::int64_t vocab = weight.tokens().rows;
  const Matrix z = column_block(all, 0, vocab);
  softcap_cross_entropy(z, targets, losses, {max, sum}, policy.loss);
  softcap_cross_entropy_backward(z, targets, max, sum, dlosses, z, policy.loss);
  for (std::int64_t i = 0; i < all.rows; ++i)
    std::fill(all.row(i) + vocab, all.row(i) + w.rows, 0.0f);
  matmul_nn(all, w, dx, policy.products);
  matmul_tn(all, x, dw, policy.weight_gradient, accumulate);
}

class Backward {
 public:
  Backward(ConstMatrix x, const HeadWeight& w, std::span<const int> targets,
           const LossGradients& dlosses, std::span<float> losses, Matrix dx, Matrix dw,
           bool accumulate, const LmHeadPolicy& policy, std::int64_t group_bytes)
      : table_(inner::table()),
        cap_(head_cap_scalars(policy, false)),
        format_(gemm_format(policy.products.inputs)),
        gradient_format_(gemm_format(policy.weight_gradient.inputs)),
        policy_(policy),
        x_(x),
        weight_(w),
        w_(w.tokens()),
        targets_(targets),
        dlosses_(dlosses),
        losses_(losses),
        dx_(dx),
        dw_(dw),
        accumulate_(accumulate),
        group_rows_(group_rows(group_bytes)),
        group_words_(gradient_format_.panel_words(group_rows_)) {}

  void run() {
    const HeadPanels nt(weight_, PackFor::kNt, format_, policy_.products);
    const HeadPanels nn(weight_, PackFor::kNn, format_, policy_.products);
    w_nn_ = nn.words();
    nn_panel_words_ = nn.panel_words();
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
  // Even, so that pairs of rows stay together, and whole blocks; groups of one size, so that no
  // thread is alone with the last one.
  std::int64_t group_rows(std::int64_t group_bytes) const {
    const std::int64_t row_bytes = 4 / gradient_format_.gemm->values_per_step * w_.rows;
    const std::int64_t blocks = (x_.rows + kHeadRows - 1) / kHeadRows;
    const std::int64_t whole = std::max<std::int64_t>(1, group_bytes / row_bytes / kHeadRows);
    const std::int64_t groups = std::max<std::int64_t>(1, (blocks + whole / 2) / whole);
    return std::min((blocks + groups - 1) / groups * kHeadRows, x_.rows);
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
    for (std::int64_t i = 0; i < count; i += 2) {
      gradient_rows(first + i, std::min<std::int64_t>(2, count - i), t + i * head.stride(),
                    head.stride(), rows + i, words.words() + i * inner::kGemmRowWords,
                    dz_panels + gradient_format_.steps(at + i) * gradient_format_.gemm->cols);
    }
    multiply_words(format_, count, w_.cols, steps, words.words(), w_nn_, nn_panel_words_,
                   sums.floats(), sum_stride, inner::kFinishRaw);
    const int rounding =
        inner::rounding_of(policy_.products.output, policy_.products.fp16_saturates);
    for (std::int64_t i = 0; i < count; ++i) {
      table_.finish(sums.floats() + i * sum_stride, w_.cols, dx_.row(first + i), rounding, false);
    }
    pack_panels(x_.row(first), x_.stride, w_.cols, count,
                x_panels + gradient_format_.steps(at) * gradient_format_.gemm->cols);
  }

  // One or two rows: t becomes dz strip by strip, packed for both products while it is in L1.
  // words: of the rows, first block; panels: of dz, at the rows' first value.
  void gradient_rows(std::int64_t row, std::int64_t count, float* t, std::int64_t stride,
                     const HeadRows::Row* known, std::uint32_t* words,
                     std::uint32_t* panels) const {
    float sums[2] = {};
    for (std::int64_t i = 0; i < count; ++i) sums[i] = loss_of(row + i, t + i * stride, known[i]);
    const std::int64_t strip = inner::kGemmSteps * format_.gemm->values_per_step;
    for (std::int64_t col = 0; col < w_.rows; col += strip) {
      const std::int64_t columns = std::min(strip, w_.rows - col);
      for (std::int64_t i = 0; i < count; ++i) {
        float* dz = t + i * stride + col;
        const int target = targets_[static_cast<std::size_t>(row + i)];
        if (target == kIgnoreTarget) {
          table_.fill(dz, columns, 0.0f);
        } else {
          const inner::GradientScalars scalars = {known[i].max, sums[i],
                                                  dlosses_.of(static_cast<std::size_t>(row + i))};
          table_.capped_gradient(dz, columns, target - col, scalars, cap_,
                                 known[i].is_ordinary && has_ordinary_gradient(scalars));
        }
      }
      format_.gemm->pack_rows(t + col, stride, count, columns, format_.steps(columns),
                              format_.rounding, format_.swaps_pairs, words);
      words += kHeadRows * inner::kGemmRowWords;
      pack_panels(t + col, stride, columns, count,
                  panels + col / gradient_format_.gemm->cols * group_words_);
    }
  }

  // The row's loss; returns its sum of exponentials.
  float loss_of(std::int64_t row, const float* t, const HeadRows::Row& known) const {
    const int target = targets_[static_cast<std::size_t>(row)];
    float& loss = losses_[static_cast<std::size_t>(row)];
    loss = 0.0f;
    if (target == kIgnoreTarget) return 0.0f;
    const float sum = table_.capped_sum(t, w_.rows, cap_, known.max, known.is_ordinary);
    loss = log(sum) - (table_.capped_value(t[target], cap_) - known.max);
    return sum;
  }

  // `count` rows of a source, values of k, into each panel of columns.
  void pack_panels(const float* rows, std::int64_t stride, std::int64_t columns, std::int64_t count,
                   std::uint32_t* panels) const {
    gradient_format_.gemm->pack_panels(rows, stride, false, columns, count,
                                       gradient_format_.steps(count), gradient_format_.rounding,
                                       gradient_format_.swaps_pairs, group_words_, panels);
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
    const std::int64_t width = gradient_format_.gemm->cols, steps = gradient_format_.steps(rows);
    const std::int64_t strip_panels = (to - from + width - 1) / width;
    const std::int64_t tiles = (width + gradient_format_.gemm->rows - 1) /
                               gradient_format_.gemm->rows * ((w_.cols + width - 1) / width);
    for (std::int64_t first = 0; first < steps; first += kSumSteps) {
      const std::int64_t count = std::min(kSumSteps, steps - first), next = first + count;
      const std::int64_t left = std::min(kSumSteps, steps - next) * width;
      inner::Fetch next_x =
          fetch_ahead(*gradient_format_.gemm,
                      {x + next * width, (w_.cols + width - 1) / width, left, group_words_},
                      strip_panels * tiles * count);
      for (std::int64_t row = from; row < to; row += width) {
        const std::uint32_t* panel = dz + row / width * group_words_;
        const bool is_last_row = row + width >= to;
        inner::Fetch next_dz =
            fetch_ahead(*gradient_format_.gemm,
                        {is_last_row ? dz + from / width * group_words_ + next * width
                                     : panel + group_words_ + first * width,
                         1, is_last_row ? left : count * width, 0},
                        tiles * count);
        sum_panel(std::min(width, to - row), first, count, panel, x,
                  strip + (row - from) * sum_stride, is_first && first == 0, &next_x, &next_dz);
      }
    }
    if (!is_last) return;
    const int rounding =
        inner::rounding_of(policy_.weight_gradient.output, policy_.weight_gradient.fp16_saturates);
    for (std::int64_t row = from; row < to; ++row) {
      table_.finish(strip + (row - from) * sum_stride, w_.cols, dw_.row(row), rounding,
                    accumulate_);
    }
  }

  // One panel of dz's columns × all panels of x, over `steps` from `first` on.
  void sum_panel(std::int64_t rows, std::int64_t first, std::int64_t steps, const std::uint32_t* dz,
                 const std::uint32_t* x, float* sums, bool is_first, inner::Fetch* next_x,
                 inner::Fetch* next_dz) const {
    const inner::Gemm& gemm = *gradient_format_.gemm;
    const std::int64_t stride = round_up(w_.cols, 16), tiles = (rows + gemm.rows - 1) / gemm.rows;
    inner::GemmTile t = {};
    t.steps = steps;
    t.b_panel = group_words_;
    t.start_stride = t.out_stride = stride;
    t.finish = inner::kFinishRaw;
    t.fetch[0] = next_x;
    t.fetch[1] = next_dz;
    for (std::int64_t j = 0; j < w_.cols; j += gemm.cols) {
      const std::int64_t vectors = (std::min<std::int64_t>(gemm.cols, w_.cols - j) + 15) / 16;
      t.b = x + j / gemm.cols * group_words_ + first * gemm.cols;
      for (std::int64_t i = 0; i < tiles; ++i) {
        const std::int64_t row = rows * i / tiles;
        t.a = dz + first * gemm.cols + row;
        t.out = sums + row * stride + j;
        t.start = is_first ? nullptr : t.out;
        gemm.tile_transposed(static_cast<int>(rows * (i + 1) / tiles - row),
                             static_cast<int>(vectors), t);
      }
    }
  }

  const inner::Table& table_;
  inner::CapScalars cap_;
  GemmFormat format_, gradient_format_;
  const LmHeadPolicy& policy_;
  ConstMatrix x_;
  const HeadWeight& weight_;
  ConstMatrix w_;  // tokens
  std::span<const int> targets_;
  LossGradients dlosses_;
  std::span<float> losses_;
  Matrix dx_, dw_;
  bool accumulate_;
  std::int64_t group_rows_;
  std::int64_t group_words_;             // from one panel of the group's to the next
  const std::uint32_t* w_nn_ = nullptr;  // panels of w as the right operand of dz w
  std::int64_t nn_panel_words_ = 0;
};

}  // namespace

void lm_head_loss_and_backward(ConstMatrix x, const HeadWeight& weight,
                               std::span<const int> targets, const LossGradients& dlosses,
                               std::span<float> losses, Matrix dx, Matrix dw, bool accumulate,
                               const LmHeadPolicy& policy, std::int64_t group_bytes) {
  const ConstMatrix w = weight.matrix;
  check_head("lm_head_backward", x, weight.tokens(), targets, losses.size());
  NB_CHECK(dlosses.fit(targets.size()), "[lm_head_backward] no gradient for each of {} rows",
           targets.size());
  NB_CHECK(same_shape(x, dx) && same_shape(w, dw),
           "[lm_head_backward] x ({},{}), dx ({},{}), w ({},{}), dw ({},{})", x.rows, x.cols,
           dx.rows, dx.cols, w.rows, w.cols, dw.rows, dw.cols);
  if (!head_works_in_blocks(policy) || x.rows == 0) {
    return run_plain(x, weight, targets, dlosses, losses, dx, dw, accumulate, policy);
  }
  Backward(x, weight, targets, dlosses, losses, dx, dw, accumulate, policy, group_bytes).run();
  if (accumulate) return;
  for (std::int64_t row = weight.tokens().rows; row < w.rows; ++row) {
    inner::table().fill(dw.row(row), dw.cols, 0.0f);
  }
}

}  // namespace nb::kernels
