// Views of values, and sums over targets, that single ops and patterns share.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "model/host/op.hpp"
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
inline double valid_targets(const Op& loss) {
  return static_cast<double>(
      std::count_if(loss.ids->begin(), loss.ids->end(), [](int target) { return target >= 0; }));
}
inline kernels::CrossEntropySettings loss_settings(const Op& loss) {
  return {.softcap = loss.softcap,
          .pointwise = loss.numerics->pointwise_policy(),
          .in_fp32 = loss.caps_in_fp32};
}
// The gradient of each row's loss: what is given, or that of scale × their mean.
inline kernels::LossGradients loss_gradients(const Op& loss_backward) {
  if (loss_backward.in[3] != nullptr) return span_of(loss_backward.in[3]);
  const double valid = valid_targets(loss_backward);
  return valid > 0 ? static_cast<float>(loss_backward.scale / valid) : 0.0F;
}
// Summed in double in row order; 0 without a valid target.
inline float mean_loss(const Op& loss, std::span<const float> losses) {
  const double valid = valid_targets(loss);
  return valid > 0 ? static_cast<float>(kernels::sum_in_order(losses) / valid) : 0.0F;
}

}  // namespace nb::host
