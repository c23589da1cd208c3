#include "model/kernels/adamw.hpp"

#include "harness/base/check.hpp"
#include "harness/base/portable_math.hpp"
#include "model/kernels/inner/dispatch.hpp"
#include "model/kernels/row_loop.hpp"

namespace nb::kernels {

void adamw(std::span<float> parameter, std::span<const float> gradient, std::span<float> m,
           std::span<float> v, const AdamWSettings& settings) {
  NB_CHECK(
      gradient.size() == parameter.size() && m.size() == parameter.size() && v.size() == m.size(),
      "[adamw] parameter has {} elements, gradient {}, m {}, v {}", parameter.size(),
      gradient.size(), m.size(), v.size());
  NB_CHECK(settings.step >= 1, "[adamw] step {} is not >= 1", settings.step);
  const auto t = static_cast<double>(settings.step);
  const double bias1 = 1.0 - pm::pow(settings.beta1, t);
  const double bias2 = 1.0 - pm::pow(settings.beta2, t);
  const bool scaled = settings.denominator == AdamWDenominator::kScaledStep;
  const double step_size = settings.learning_rate * (scaled ? pm::sqrt(bias2) : 1.0) / bias1;
  const inner::AdamWScalars scalars = {
      .decay = static_cast<float>(1.0 - settings.learning_rate * settings.weight_decay),
      .beta1 = static_cast<float>(settings.beta1),
      .one_minus_beta1 = static_cast<float>(1.0 - settings.beta1),
      .beta2 = static_cast<float>(settings.beta2),
      .one_minus_beta2 = static_cast<float>(1.0 - settings.beta2),
      .epsilon = static_cast<float>(settings.epsilon),
      .step_size = static_cast<float>(step_size),
      .bias2 = scaled ? 0.0f : static_cast<float>(bias2),
      .round_state = inner::rounding_of(settings.state),
      .round_parameter = inner::rounding_of(settings.parameter),
      .eager = settings.eager,
  };
  const inner::Table& table = inner::table();
  each_piece(parameter.size(), [&](std::size_t begin, std::int64_t count) {
    table.adamw(parameter.data() + begin, gradient.data() + begin, m.data() + begin,
                v.data() + begin, count, scalars);
  });
}

}  // namespace nb::kernels
