#include "model/kernels/cross_entropy.hpp"

#include "harness/base/check.hpp"
#include "model/kernels/inner/dispatch.hpp"
#include "model/kernels/row_loop.hpp"
#include "model/kernels/scratch.hpp"
#include "model/kernels/vector_math.hpp"

namespace nb::kernels {
namespace {

inner::SoftcapScalars scalars(const CrossEntropySettings& settings) {
  NB_CHECK(settings.softcap >= 0.0f, "[cross_entropy] softcap {} is negative", settings.softcap);
  return {settings.softcap, settings.pointwise.eager,
          settings.pointwise.eager ? inner::rounding_of(settings.pointwise) : inner::kRoundNone};
}

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

// body(row, z, target) with the capped logits of each row, rounded by `rounding`.
template <class Body>
void each_capped_row(ConstMatrix logits, const CrossEntropySettings& settings, int rounding,
                     const Body& body) {
  const inner::Table& table = inner::table();
  const inner::SoftcapScalars cap = scalars(settings);
  each_row(logits.rows, logits.cols, [&](std::int64_t i) {
    const Scratch scratch(static_cast<std::size_t>(logits.cols) * sizeof(float));
    table.softcap(logits.row(i), logits.cols, cap, scratch.floats(), rounding);
    body(i, scratch.floats());
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
  each_capped_row(logits, settings, inner::kRoundNone, [&](std::int64_t i, const float* z) {
    const auto row = static_cast<std::size_t>(i);
    float max = 0.0f, sum = 0.0f;
    table.max_and_sum(z, logits.cols, &max, &sum);
    if (!saved.row_max.empty()) saved.row_max[row] = max;
    if (!saved.row_sum.empty()) saved.row_sum[row] = sum;
    losses[row] = targets[row] == kIgnoreTarget ? 0.0f : log(sum) - (z[targets[row]] - max);
  });
}

void softcap_cross_entropy_backward(ConstMatrix logits, std::span<const int> targets,
                                    std::span<const float> row_max, std::span<const float> row_sum,
                                    float scale, Matrix dlogits,
                                    const CrossEntropySettings& settings) {
  check_targets("cross_entropy_backward", logits, targets);
  check_rows("cross_entropy_backward", row_max.size(), logits);
  check_rows("cross_entropy_backward", row_sum.size(), logits);
  NB_CHECK(same_shape(logits, dlogits), "[cross_entropy_backward] logits ({},{}), dlogits ({},{})",
           logits.rows, logits.cols, dlogits.rows, dlogits.cols);
  const inner::Table& table = inner::table();
  const inner::SoftcapScalars cap = scalars(settings);
  const int rounding = inner::rounding_of(settings.pointwise);
  each_row(logits.rows, logits.cols, [&](std::int64_t i) {
    const auto row = static_cast<std::size_t>(i);
    if (targets[row] == kIgnoreTarget) return table.fill(dlogits.row(i), logits.cols, 0.0f);
    table.cross_entropy_backward(logits.row(i), logits.cols, targets[row], row_max[row],
                                 row_sum[row], scale, cap, dlogits.row(i), rounding);
  });
}

void softcap(ConstMatrix logits, Matrix out, const CrossEntropySettings& settings) {
  NB_CHECK(same_shape(logits, out), "[softcap] logits ({},{}), out ({},{})", logits.rows,
           logits.cols, out.rows, out.cols);
  const inner::Table& table = inner::table();
  const inner::SoftcapScalars cap = scalars(settings);
  const int rounding = inner::rounding_of(settings.pointwise);
  each_row(logits.rows, logits.cols, [&](std::int64_t i) {
    table.softcap(logits.row(i), logits.cols, cap, out.row(i), rounding);
  });
}

void score_targets(ConstMatrix logits, std::span<const int> targets, std::span<float> log_probs,
                   std::span<int> argmax, const CrossEntropySettings& settings) {
  check_targets("score_targets", logits, targets);
  if (!log_probs.empty()) check_rows("score_targets", log_probs.size(), logits);
  if (!argmax.empty()) check_rows("score_targets", argmax.size(), logits);
  const inner::Table& table = inner::table();
  const int rounding = inner::rounding_of(settings.pointwise);
  each_capped_row(logits, settings, rounding, [&](std::int64_t i, const float* z) {
    const auto row = static_cast<std::size_t>(i);
    if (!log_probs.empty()) {
      log_probs[row] = 0.0f;
      if (targets[row] != kIgnoreTarget) {
        float max = 0.0f, sum = 0.0f;
        table.max_and_sum(z, logits.cols, &max, &sum);
        log_probs[row] = (z[targets[row]] - max) - log(sum);
      }
    }
    if (!argmax.empty()) {
      std::int64_t best = -1;
      for (std::int64_t j = 0; j < logits.cols; ++j) {
        if (z[j] == z[j] && (best < 0 || z[best] < z[j])) best = j;
      }
      argmax[row] = best < 0 ? 0 : static_cast<int>(best);
    }
  });
}

}  // namespace nb::kernels
