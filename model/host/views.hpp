// Views of values, and sums over targets, that single ops and patterns share.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "model/host/operands.hpp"
#include "model/kernels/cross_entropy.hpp"
#include "model/kernels/reduce.hpp"
#include "model/tensor/view.hpp"

namespace nb::host {

// Rows of `width`, which may be shorter than the values' own.
template <class View>
View rows_of(View numbers, std::int64_t width) {
  numbers.rows = numbers.rows * numbers.cols / width;
  numbers.cols = numbers.stride = width;
  return numbers;
}

inline std::span<const float> span_of(const Values& values) {
  const ConstMatrix m = values->matrix();
  return {m.data, static_cast<std::size_t>(m.rows * m.cols)};
}

// Targets of a loss: -1 is ignored.
inline double valid_targets(const Labels& labels) {
  return static_cast<double>(
      std::ranges::count_if(*labels.targets, [](int target) { return target >= 0; }));
}
// The gradient of each row's loss: what is given, or that of scale × their mean.
inline kernels::LossGradients loss_gradients(const CrossEntropyBackward& loss) {
  if (loss.dlosses != nullptr) return span_of(loss.dlosses);
  const double valid = valid_targets(loss.labels);
  return valid > 0 ? static_cast<float>(loss.scale / valid) : 0.0F;
}
// Summed in double in row order; 0 without a valid target.
inline float mean_loss(const Labels& labels, std::span<const float> losses) {
  const double valid = valid_targets(labels);
  return valid > 0 ? static_cast<float>(kernels::sum_in_order(losses) / valid) : 0.0F;
}

}  // namespace nb::host
