#include "model/kernels/reference/pointwise.hpp"

#include <cmath>

#include "model/kernels/reference/rows.hpp"
#include "model/kernels/reference/vector_math.hpp"

namespace nb::kernels::reference {
namespace {

// out = round(element(i, j)).
template <class Element>
void each(Matrix out, DType storage, const Element& element) {
  for (std::int64_t i = 0; i < out.rows; ++i) {
    for (std::int64_t j = 0; j < out.cols; ++j)
      out.row(i)[j] = nb::round_to(storage, element(i, j));
  }
}

// What a kernel of the eager lowering hands to the next one.
float handed_on(const PointwisePolicy& policy, float value) {
  return policy.eager ? round_to(policy, value) : value;
}

void add_to(const ParameterGradient& to, std::size_t index, float sum) {
  const float rounded = nb::round_to(to.dtype, sum);
  to.values[index] = to.accumulate ? nb::round_to(to.dtype, to.values[index] + rounded) : rounded;
}

float logistic(float x) { return 1.0f / (1.0f + exp(-x)); }

// Σ a·b in lanes: of rounded products in eager mode, else a chain of fma.
float lanes_of(const float* a, const float* b, std::int64_t count, const PointwisePolicy& policy) {
  return lane_sum(count, [&](float sum, std::int64_t j) {
    return policy.eager ? sum + round_to(policy, a[j] * b[j]) : std::fma(a[j], b[j], sum);
  });
}

}  // namespace

void silu(ConstMatrix x, Matrix out, DType storage) {
  each(out, storage,
       [&](std::int64_t i, std::int64_t j) { return x.row(i)[j] / (1.0f + exp(-x.row(i)[j])); });
}

void silu_backward(ConstMatrix dy, ConstMatrix x, Matrix dx, DType storage) {
  each(dx, storage, [&](std::int64_t i, std::int64_t j) {
    const float v = x.row(i)[j], s = logistic(v);
    return (dy.row(i)[j] * s) * (1.0f + v * (1.0f - s));
  });
}

void sigmoid(ConstMatrix x, Matrix out, DType storage) {
  each(out, storage, [&](std::int64_t i, std::int64_t j) { return logistic(x.row(i)[j]); });
}

void sigmoid_backward(ConstMatrix dy, ConstMatrix y, Matrix dx, DType storage) {
  each(dx, storage, [&](std::int64_t i, std::int64_t j) {
    const float v = y.row(i)[j];
    return (dy.row(i)[j] * (1.0f - v)) * v;
  });
}

void gelu(ConstMatrix x, Matrix out, DType storage) {
  each(out, storage, [&](std::int64_t i, std::int64_t j) {
    const float v = x.row(i)[j];
    const float t = tanh(0.797884561f * (v + 0.044715f * ((v * v) * v)));
    return (0.5f * v) * (1.0f + t);
  });
}

void gelu_backward(ConstMatrix dy, ConstMatrix x, Matrix dx, DType storage) {
  each(dx, storage, [&](std::int64_t i, std::int64_t j) {
    const float v = x.row(i)[j];
    const float t = tanh(0.797884561f * (v + 0.044715f * ((v * v) * v)));
    const float inside = 0.797884561f * (1.0f + (3.0f * 0.044715f) * (v * v));
    return dy.row(i)[j] * (0.5f * (1.0f + t) + ((0.5f * v) * (1.0f - t * t)) * inside);
  });
}

void multiply(ConstMatrix a, ConstMatrix b, Matrix out, DType storage) {
  each(out, storage,
       [&](std::int64_t i, std::int64_t j) { return a.row(i)[j] * b.row(b.rows == 1 ? 0 : i)[j]; });
}

void add_bias(ConstMatrix x, ConstMatrix bias, Matrix out, DType storage) {
  each(out, storage, [&](std::int64_t i, std::int64_t j) { return x.row(i)[j] + bias.row(0)[j]; });
}

void scale(ConstMatrix x, float factor, Matrix out, DType storage) {
  each(out, storage, [&](std::int64_t i, std::int64_t j) { return x.row(i)[j] * factor; });
}

void gain_gradient(ConstMatrix dy, ConstMatrix x, const ParameterGradient& dgain,
                   const PointwisePolicy& policy) {
  for (std::int64_t j = 0; j < dy.cols; ++j) {
    float sum = 0.0f;
    for (std::int64_t i = 0; i < dy.rows; ++i)
      sum = sum + handed_on(policy, dy.row(i)[j] * x.row(i)[j]);
    add_to(dgain, static_cast<std::size_t>(j), handed_on(policy, sum));
  }
}

void bias_gradient(ConstMatrix dy, const ParameterGradient& dbias, const PointwisePolicy& policy) {
  for (std::int64_t j = 0; j < dy.cols; ++j) {
    float sum = 0.0f;
    for (std::int64_t i = 0; i < dy.rows; ++i) sum = sum + dy.row(i)[j];
    add_to(dbias, static_cast<std::size_t>(j), handed_on(policy, sum));
  }
}

void factor_gradient(ConstMatrix dy, ConstMatrix x, const ParameterGradient& dfactor,
                     const PointwisePolicy& policy) {
  double total = 0;
  for (std::int64_t i = 0; i < dy.rows; ++i)
    total += static_cast<double>(lanes_of(dy.row(i), x.row(i), dy.cols, policy));
  add_to(dfactor, 0, handed_on(policy, static_cast<float>(total)));
}

void gate_heads(ConstMatrix x, ConstMatrix gate, Matrix out, DType storage) {
  const std::int64_t head_dim = x.cols / gate.cols;
  each(out, storage,
       [&](std::int64_t i, std::int64_t j) { return x.row(i)[j] * gate.row(i)[j / head_dim]; });
}

void gate_heads_gradient(ConstMatrix dy, ConstMatrix x, Matrix dgate,
                         const PointwisePolicy& policy) {
  const std::int64_t head_dim = x.cols / dgate.cols;
  for (std::int64_t i = 0; i < x.rows; ++i) {
    for (std::int64_t h = 0; h < dgate.cols; ++h)
      dgate.row(i)[h] = round_to(
          policy, lanes_of(dy.row(i) + h * head_dim, x.row(i) + h * head_dim, head_dim, policy));
  }
}

void layer_norm(ConstMatrix x, std::span<const float> gain, std::span<const float> bias, Matrix out,
                std::span<float> mean, std::span<float> rstd, DType storage, float epsilon,
                Rsqrt rsqrt) {
  const auto width = static_cast<float>(x.cols);
  for (std::int64_t i = 0; i < x.rows; ++i) {
    const float* row = x.row(i);
    const float m =
        lane_sum(x.cols, [&](float sum, std::int64_t j) { return sum + row[j]; }) / width;
    const float squares = lane_sum(
        x.cols, [&](float sum, std::int64_t j) { return std::fma(row[j] - m, row[j] - m, sum); });
    const float r = inverse_root(squares / width + epsilon, rsqrt);
    if (!mean.empty()) mean[static_cast<std::size_t>(i)] = m;
    if (!rstd.empty()) rstd[static_cast<std::size_t>(i)] = r;
    for (std::int64_t j = 0; j < x.cols; ++j) {
      const auto at = static_cast<std::size_t>(j);
      out.row(i)[j] = nb::round_to(storage, ((row[j] - m) * r) * gain[at] + bias[at]);
    }
  }
}

void layer_norm_backward(ConstMatrix dy, ConstMatrix x, std::span<const float> gain,
                         std::span<const float> mean, std::span<const float> rstd, Matrix dx,
                         DType storage) {
  const auto width = static_cast<float>(x.cols);
  for (std::int64_t i = 0; i < x.rows; ++i) {
    const float m = mean[static_cast<std::size_t>(i)], r = rstd[static_cast<std::size_t>(i)];
    const auto n = [&](std::int64_t j) { return (x.row(i)[j] - m) * r; };
    const auto g = [&](std::int64_t j) { return dy.row(i)[j] * gain[static_cast<std::size_t>(j)]; };
    const float a = lane_sum(x.cols, [&](float sum, std::int64_t j) { return sum + g(j); }) / width;
    const float b =
        lane_sum(x.cols, [&](float sum, std::int64_t j) { return std::fma(g(j), n(j), sum); }) /
        width;
    for (std::int64_t j = 0; j < x.cols; ++j)
      dx.row(i)[j] = nb::round_to(storage, r * ((g(j) - a) - n(j) * b));
  }
}

void layer_norm_weights_gradient(ConstMatrix dy, ConstMatrix x, std::span<const float> mean,
                                 std::span<const float> rstd, const ParameterGradient& dgain,
                                 const ParameterGradient& dbias) {
  for (std::int64_t j = 0; j < x.cols; ++j) {
    float of_gain = 0.0f, of_bias = 0.0f;
    for (std::int64_t i = 0; i < x.rows; ++i) {
      const auto at = static_cast<std::size_t>(i);
      of_gain = of_gain + dy.row(i)[j] * ((x.row(i)[j] - mean[at]) * rstd[at]);
      of_bias = of_bias + dy.row(i)[j];
    }
    if (!dgain.values.empty()) add_to(dgain, static_cast<std::size_t>(j), of_gain);
    if (!dbias.values.empty()) add_to(dbias, static_cast<std::size_t>(j), of_bias);
  }
}

void dropout(ConstMatrix x, double rate, const Rng& rng, Matrix out, DType storage) {
  const auto factor = static_cast<float>(1.0 / (1.0 - rate));
  each(out, storage, [&](std::int64_t i, std::int64_t j) {
    const bool is_dropped = rng.uniform(static_cast<std::uint64_t>(i * x.cols + j)) < rate;
    return is_dropped ? 0.0f : x.row(i)[j] * factor;
  });
}

}  // namespace nb::kernels::reference
