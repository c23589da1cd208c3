#include "model/kernels/cross_entropy.hpp"

#include <cstring>

#include "harness/base/check.hpp"
#include "model/kernels/cap_scalars.hpp"
#include "model/kernels/row_loop.hpp"
#include "model/kernels/scratch.hpp"
#include "model/kernels/vector_math.hpp"

namespace nb::kernels {
namespace {

void check_targets(const char* op, ConstMatrix logits, std::span<const int> targets) {
  NB_CHECK(static_cast<std::int64_t>(targets.size()) == logits.rows, "[{}] {} targets for {} rows",
           op, targets.size(), logits.rows);
  for (std::size_t i = 0; i < targets.size(); ++i) {
    NB_CHECK(targets[i] >= kIgnoreTarget && targets[i] < logits.cols,
             "[{}] target {} at row {} is outside [-1, {})", op, targets[i], i, logits.cols);
  }
}

void check_rows(const char* op, std::size_t size, ConstMatrix logits) {
  NB_CHECK(size == static_cast<std::size_t>(logits.rows), "[{}] {} values for {} rows", op, size,
           logits.rows);
}

// body(row, t, what is known of the row), t a copy that body may change.
template <class Body>
void each_capped_row(ConstMatrix logits, const inner::CapScalars& cap, const Body& body) {
  const inner::Table& table = inner::table();
  each_row(logits.rows, logits.cols, [&](std::int64_t i) {
    const Scratch scratch(static_cast<std::size_t>(logits.cols) * sizeof(float));
    float* t = scratch.floats();
    std::memcpy(t, logits.row(i), static_cast<std::size_t>(logits.cols) * sizeof(float));
    inner::CapRow row = fresh_row(cap);
    table.cap_logits(t, logits.cols, cap, &row);
    body(i, t, row);
  });
}

}  // namespace

void softcap_cross_entropy(ConstMatrix logits, std::span<const int> targets,
                           std::span<float> losses, const CrossEntropySaved& saved,
                           const CrossEntropySettings& settings) {
  check_targets("cross_entropy", logits, targets);
  check_rows("cross_entropy", losses.size(), logits);
  if (!saved.row_max.empty()) check_rows("cross_entropy", saved.row_max.size(), logits);
  if (!saved.row_sum.empty()) check_rows("cross_entropy", saved.row_sum.size(), logits);
  const inner::Table& table = inner::table();
  const inner::CapScalars cap = cap_scalars(settings, false, false);
  each_capped_row(logits, cap, [&](std::int64_t i, const float* t, const inner::CapRow& known) {
    const auto row = static_cast<std::size_t>(i);
    const float max = table.largest_capped(known);
    const float sum = table.capped_sum(t, logits.cols, cap, max, known.is_ordinary);
    if (!saved.row_max.empty()) saved.row_max[row] = max;
    if (!saved.row_sum.empty()) saved.row_sum[row] = sum;
    losses[row] = targets[row] == kIgnoreTarget
                      ? 0.0f
                      : log(sum) - (table.capped_value(t[targets[row]], cap) - max);
  });
}

void softcap_cross_entropy_backward(ConstMatrix logits, std::span<const int> targets,
                                    std::span<const float> row_max, std::span<const float> row_sum,
                                    const LossGradients& dlosses, Matrix dlogits,
                                    const CrossEntropySettings& settings) {
  check_targets("cross_entropy_backward", logits, targets);
  check_rows("cross_entropy_backward", row_max.size(), logits);
  check_rows("cross_entropy_backward", row_sum.size(), logits);
  NB_CHECK(dlosses.fit(targets.size()), "[cross_entropy_backward] no gradient for each of {} rows",
           targets.size());
  NB_CHECK(same_shape(logits, dlogits), "[cross_entropy_backward] logits ({},{}), dlogits ({},{})",
           logits.rows, logits.cols, dlogits.rows, dlogits.cols);
  const inner::Table& table = inner::table();
  const inner::CapScalars cap = cap_scalars(settings, false, false);
  each_capped_row(logits, cap, [&](std::int64_t i, float* t, const inner::CapRow& known) {
    const auto row = static_cast<std::size_t>(i);
    if (targets[row] == kIgnoreTarget) return table.fill(dlogits.row(i), logits.cols, 0.0f);
    // The caller's max and sum may be anything, so nothing is known to be ordinary.
    const inner::GradientScalars scalars = {row_max[row], row_sum[row], dlosses.of(row)};
    const bool is_ordinary = known.is_ordinary && row_max[row] == table.largest_capped(known) &&
                             has_ordinary_gradient(scalars);
    table.capped_gradient(t, logits.cols, targets[row], scalars, cap, is_ordinary);
    std::memcpy(dlogits.row(i), t, static_cast<std::size_t>(logits.cols) * sizeof(float));
  });
}

void softcap_part_max(ConstMatrix logits, std::span<const int> targets, std::int64_t first,
                      std::span<float> row_max, std::span<float> at_target,
                      const CrossEntropySettings& settings) {
  check_rows("cross_entropy_part", targets.size(), logits);
  check_rows("cross_entropy_part", row_max.size(), logits);
  check_rows("cross_entropy_part", at_target.size(), logits);
  const inner::Table& table = inner::table();
  const inner::CapScalars cap = cap_scalars(settings, false, false);
  each_capped_row(logits, cap, [&](std::int64_t i, const float* t, const inner::CapRow& known) {
    const auto row = static_cast<std::size_t>(i);
    const std::int64_t target = targets[row] - first;
    row_max[row] = table.largest_capped(known);
    at_target[row] =
        target >= 0 && target < logits.cols ? table.capped_value(t[target], cap) : 0.0f;
  });
}

void softcap_part_sum(ConstMatrix logits, std::span<const float> row_max, std::span<float> row_sum,
                      const CrossEntropySettings& settings) {
  check_rows("cross_entropy_part", row_max.size(), logits);
  check_rows("cross_entropy_part", row_sum.size(), logits);
  const inner::Table& table = inner::table();
  const inner::CapScalars cap = cap_scalars(settings, false, false);
  each_capped_row(logits, cap, [&](std::int64_t i, const float* t, const inner::CapRow&) {
    const auto row = static_cast<std::size_t>(i);
    row_sum[row] = table.capped_sum(t, logits.cols, cap, row_max[row], false);
  });
}

void softcap_part_backward(ConstMatrix logits, std::span<const int> targets, std::int64_t first,
                           std::span<const float> row_max, std::span<const float> row_sum,
                           float dloss, Matrix dlogits, const CrossEntropySettings& settings) {
  check_rows("cross_entropy_part", targets.size(), logits);
  check_rows("cross_entropy_part", row_max.size(), logits);
  check_rows("cross_entropy_part", row_sum.size(), logits);
  NB_CHECK(same_shape(logits, dlogits), "[cross_entropy_part] logits ({},{}), dlogits ({},{})",
           logits.rows, logits.cols, dlogits.rows, dlogits.cols);
  const inner::Table& table = inner::table();
  const inner::CapScalars cap = cap_scalars(settings, false, false);
  each_capped_row(logits, cap, [&](std::int64_t i, float* t, const inner::CapRow&) {
    const auto row = static_cast<std::size_t>(i);
    if (targets[row] == kIgnoreTarget) return table.fill(dlogits.row(i), logits.cols, 0.0f);
    const inner::GradientScalars scalars = {row_max[row], row_sum[row], dloss};
    // A target of another part is none of this one's columns.
    table.capped_gradient(t, logits.cols, targets[row] - first, scalars, cap, false);
    std::memcpy(dlogits.row(i), t, static_cast<std::size_t>(logits.cols) * sizeof(float));
  });
}

void softcap(ConstMatrix logits, Matrix out, const CrossEntropySettings& settings) {
  NB_CHECK(same_shape(logits, out), "[softcap] logits ({},{}), out ({},{})", logits.rows,
           logits.cols, out.rows, out.cols);
  const inner::Table& table = inner::table();
  const inner::CapScalars cap = cap_scalars(settings, true, false);
  each_row(logits.rows, logits.cols,
           [&](std::int64_t i) { table.softcap(logits.row(i), logits.cols, cap, out.row(i)); });
}

void softcap_block(ConstMatrix logits, Matrix out, const ProductBlock& block,
                   const CrossEntropySettings& settings) {
  const inner::Table& table = inner::table();
  const inner::CapScalars cap = cap_scalars(settings, true, false);
  for (std::int64_t i = block.row; i < block.row + block.rows; ++i) {
    table.softcap(logits.row(i) + block.col, block.cols, cap, out.row(i) + block.col);
  }
}

void score_targets(ConstMatrix logits, std::span<const int> targets, std::span<float> log_probs,
                   std::span<int> argmax, const CrossEntropySettings& settings) {
  check_targets("score_targets", logits, targets);
  if (!log_probs.empty()) check_rows("score_targets", log_probs.size(), logits);
  if (!argmax.empty()) check_rows("score_targets", argmax.size(), logits);
  const inner::Table& table = inner::table();
  const inner::CapScalars cap = cap_scalars(settings, true, false);
  each_capped_row(logits, cap, [&](std::int64_t i, const float* t, const inner::CapRow& known) {
    const auto row = static_cast<std::size_t>(i);
    const float max = table.largest_capped(known);
    if (!log_probs.empty()) {
      log_probs[row] = 0.0f;
      if (targets[row] != kIgnoreTarget) {
        const float sum = table.capped_sum(t, logits.cols, cap, max, known.is_ordinary);
        log_probs[row] = (table.capped_value(t[targets[row]], cap) - max) - log(sum);
      }
    }
    if (!argmax.empty())
      argmax[row] = static_cast<int>(table.first_capped(t, logits.cols, cap, max));
  });
}

}  // namespace nb::kernels
