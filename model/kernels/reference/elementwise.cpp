#include "model/kernels/reference/elementwise.hpp"

#include <algorithm>
#include <cmath>

#include "harness/base/portable_math.hpp"
#include "model/kernels/reference/vector_math.hpp"

namespace nb::kernels::reference {

void add(ConstMatrix a, ConstMatrix b, Matrix out, DType storage) {
  for (std::int64_t i = 0; i < a.rows; ++i) {
    for (std::int64_t j = 0; j < a.cols; ++j)
      out.row(i)[j] = round_to(storage, a.row(i)[j] + b.row(i)[j]);
  }
}

void relu_squared(ConstMatrix x, Matrix out, DType storage) {
  for (std::int64_t i = 0; i < x.rows; ++i) {
    for (std::int64_t j = 0; j < x.cols; ++j) {
      const float h = x.row(i)[j] <= 0.0f ? 0.0f : x.row(i)[j];
      out.row(i)[j] = round_to(storage, h * h);
    }
  }
}

void relu_squared_backward(ConstMatrix dy, ConstMatrix x, Matrix dx, DType storage) {
  for (std::int64_t i = 0; i < x.rows; ++i) {
    for (std::int64_t j = 0; j < x.cols; ++j) {
      const float v = x.row(i)[j];
      dx.row(i)[j] = v <= 0.0f ? 0.0f : round_to(storage, dy.row(i)[j] * (2.0f * v));
    }
  }
}

void adamw(std::span<float> parameter, std::span<const float> gradient, std::span<float> m,
           std::span<float> v, const AdamWSettings& s) {
  const auto t = static_cast<double>(s.step);
  const double bias1 = 1.0 - pm::pow(s.beta1, t), bias2 = 1.0 - pm::pow(s.beta2, t);
  const auto beta1 = static_cast<float>(s.beta1), rest1 = static_cast<float>(1.0 - s.beta1);
  const auto beta2 = static_cast<float>(s.beta2), rest2 = static_cast<float>(1.0 - s.beta2);
  const auto epsilon = static_cast<float>(s.epsilon);
  for (std::size_t i = 0; s.eager && i < parameter.size(); ++i) {
    const auto state = [&](float x) { return round_to(s.state, x); };
    const bool scaled = s.denominator == AdamWDenominator::kScaledStep;
    float p = parameter[i];
    if (s.weight_decay != 0.0)
      p = round_to(s.parameter, p * static_cast<float>(1.0 - s.learning_rate * s.weight_decay));
    m[i] = state(beta1 * m[i]);
    m[i] = state(std::fma(rest1, gradient[i], m[i]));
    v[i] = state(beta2 * v[i]);
    v[i] = state(std::fma(rest2 * gradient[i], gradient[i], v[i]));
    float d = state(std::sqrt(scaled ? v[i] : state(v[i] / static_cast<float>(bias2))));
    d = state(d + epsilon);
    float u = state(m[i] / d);
    u = state(static_cast<float>(s.learning_rate * (scaled ? pm::sqrt(bias2) : 1.0) / bias1) * u);
    parameter[i] = round_to(s.parameter, p - u);
  }
  for (std::size_t i = 0; !s.eager && i < parameter.size(); ++i) {
    const float g = gradient[i];
    float p = parameter[i];
    if (s.weight_decay != 0.0) p = p * static_cast<float>(1.0 - s.learning_rate * s.weight_decay);
    m[i] = round_to(s.state, std::fma(rest1, g, beta1 * m[i]));
    v[i] = round_to(s.state, std::fma(rest2 * g, g, beta2 * v[i]));
    float step = 0.0f;
    if (s.denominator == AdamWDenominator::kScaledStep) {
      step = static_cast<float>(s.learning_rate * pm::sqrt(bias2) / bias1) *
             (m[i] / (std::sqrt(v[i]) + epsilon));
    } else {
      step = static_cast<float>(s.learning_rate / bias1) *
             (m[i] / (std::sqrt(v[i] / static_cast<float>(bias2)) + epsilon));
    }
    parameter[i] = round_to(s.parameter, p - step);
  }
}

double sum_of_squares(std::span<const float> values) {
  double total = 0.0;
  for (std::size_t begin = 0; begin < values.size(); begin += 4096) {
    const auto count =
        static_cast<std::int64_t>(std::min<std::size_t>(4096, values.size() - begin));
    const float* chunk = values.data() + begin;
    total += static_cast<double>(lane_sum(
        count, [&](float acc, std::int64_t i) { return std::fma(chunk[i], chunk[i], acc); }));
  }
  return total;
}

}  // namespace nb::kernels::reference
