#include "model/kernels/reference/rows.hpp"

#include <cmath>
#include <vector>

#include "model/kernels/reference/vector_math.hpp"

namespace nb::kernels::reference {
namespace {

void rotate(ConstMatrix x, Matrix out, ConstMatrix cos, ConstMatrix sin, const RotaryShape& shape,
            const PointwisePolicy& policy, float sign) {
  const std::int64_t half = shape.head_dim / 2;
  const bool is_paired = shape.layout == RotaryLayout::kPairs;
  const auto inside = [&](float v) { return policy.eager ? round_to(policy, v) : v; };
  for (std::int64_t r = 0; r < x.rows; ++r) {
    const std::int64_t t = shape.first_position + r % shape.time;
    for (std::int64_t h = 0; h < shape.heads; ++h) {
      const float* in = x.row(r) + h * shape.head_dim;
      float* to = out.row(r) + h * shape.head_dim;
      for (std::int64_t i = 0; i < half; ++i) {
        const std::int64_t first = is_paired ? 2 * i : i, second = is_paired ? 2 * i + 1 : half + i;
        const float x1 = in[first], x2 = in[second];
        const float c = cos.row(t)[i], s = sign * sin.row(t)[i];
        to[first] = round_to(policy, inside(x1 * c) + inside(x2 * s));
        to[second] = round_to(policy, inside(x1 * -s) + inside(x2 * c));
      }
    }
  }
}

}  // namespace

float round_to(const PointwisePolicy& policy, float value) {
  if (policy.storage == DType::kFp16 && policy.fp16_saturates)
    return round_to_fp16_saturating(value);
  return policy.storage == DType::kFp32 ? value : nb::round_to(policy.storage, value);
}

float inverse_root(float x, Rsqrt how) {
  const float root = 1.0f / std::sqrt(x);
  if (how == Rsqrt::kPrecise || !std::isfinite(root)) return root;
  int exponent = 0;
  const float mantissa = std::frexp(root, &exponent);
  return std::ldexp(std::nearbyint(std::ldexp(mantissa, 14)), exponent - 14);
}

void rms_norm(ConstMatrix x, Matrix out, std::span<float> rstd, DType storage, float epsilon,
              Rsqrt rsqrt) {
  for (std::int64_t i = 0; i < x.rows; ++i) {
    const float* row = x.row(i);
    const float squares =
        lane_sum(x.cols, [&](float acc, std::int64_t j) { return std::fma(row[j], row[j], acc); });
    const float r = inverse_root(squares / static_cast<float>(x.cols) + epsilon, rsqrt);
    if (!rstd.empty()) rstd[static_cast<std::size_t>(i)] = r;
    for (std::int64_t j = 0; j < x.cols; ++j) out.row(i)[j] = nb::round_to(storage, row[j] * r);
  }
}

void rms_norm_backward(ConstMatrix dy, ConstMatrix x, std::span<const float> rstd, Matrix dx,
                       DType storage) {
  for (std::int64_t i = 0; i < x.rows; ++i) {
    const float r = rstd[static_cast<std::size_t>(i)];
    const float dot = lane_sum(x.cols, [&](float acc, std::int64_t j) {
      return std::fma(dy.row(i)[j], x.row(i)[j], acc);
    });
    const float coefficient = ((dot * r) * r) * r / static_cast<float>(x.cols);
    for (std::int64_t j = 0; j < x.cols; ++j) {
      dx.row(i)[j] = nb::round_to(storage, std::fma(-coefficient, x.row(i)[j], r * dy.row(i)[j]));
    }
  }
}

void rotary(ConstMatrix x, Matrix out, ConstMatrix cos, ConstMatrix sin, const RotaryShape& shape,
            const PointwisePolicy& policy) {
  rotate(x, out, cos, sin, shape, policy, shape.layout == RotaryLayout::kPairs ? -1.0f : 1.0f);
}

void rotary_backward(ConstMatrix dy, Matrix dx, ConstMatrix cos, ConstMatrix sin,
                     const RotaryShape& shape, const PointwisePolicy& policy) {
  rotate(dy, dx, cos, sin, shape, policy, shape.layout == RotaryLayout::kPairs ? 1.0f : -1.0f);
}

void embedding(ConstMatrix table, std::span<const int> ids, Matrix out, DType storage) {
  for (std::int64_t i = 0; i < out.rows; ++i) {
    for (std::int64_t j = 0; j < out.cols; ++j) {
      out.row(i)[j] = nb::round_to(storage, table.row(ids[static_cast<std::size_t>(i)])[j]);
    }
  }
}

void embedding_backward(ConstMatrix dout, std::span<const int> ids, Matrix dtable, DType gradient) {
  for (std::int64_t id = 0; id < dtable.rows; ++id) {
    std::vector<float> sum(static_cast<std::size_t>(dtable.cols), 0.0f);
    bool occurs = false;
    for (std::size_t i = 0; i < ids.size(); ++i) {
      if (ids[i] != id) continue;
      occurs = true;
      for (std::size_t j = 0; j < sum.size(); ++j) {
        sum[j] = sum[j] + dout.row(static_cast<std::int64_t>(i))[j];
      }
    }
    if (!occurs) continue;
    for (std::size_t j = 0; j < sum.size(); ++j) {
      float& target = dtable.row(id)[j];
      target = nb::round_to(gradient, target + nb::round_to(gradient, sum[j]));
    }
  }
}

}  // namespace nb::kernels::reference
