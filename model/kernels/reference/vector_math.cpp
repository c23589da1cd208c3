#include "model/kernels/reference/vector_math.hpp"

#include <bit>
#include <cmath>

namespace nb::kernels::reference {
namespace {

const float kNan = std::bit_cast<float>(0x7fc00000u);

template <std::size_t kCount>
float polynomial(const float (&highest_first)[kCount], float x) {
  float y = highest_first[0];
  for (std::size_t i = 1; i < kCount; ++i) y = std::fma(y, x, highest_first[i]);
  return y;
}

}  // namespace

float exp(float x) {
  if (std::isnan(x)) return kNan;
  const float c = x < -104.0f ? -104.0f : x > 89.0f ? 89.0f : x;
  const float k = std::nearbyint(c * 1.44269502f);
  const float r = std::fma(k, 2.12194440e-4f, std::fma(k, -0.693359375f, c));
  const float q = polynomial(
      {0.000197900314f, 0.00139449793f, 0.00833349861f, 0.0416662917f, 0.166666657f, 0.5f}, r);
  const float e = std::fma(r * r, q, r) + 1.0f;
  const int n = static_cast<int>(k), half = n >> 1;
  return (e * std::ldexp(1.0f, half)) * std::ldexp(1.0f, n - half);
}

float log(float x) {
  if (std::isnan(x) || x < 0.0f) return kNan;
  if (x == 0.0f) return -INFINITY;
  if (std::isinf(x)) return x;
  const bool denormal = x < 0x1p-126f;
  const std::uint32_t u = std::bit_cast<std::uint32_t>(denormal ? x * 0x1p23f : x) - 0x3f3504f3u;
  const int exponent = (static_cast<std::int32_t>(u) >> 23) - (denormal ? 23 : 0);
  const auto k = static_cast<float>(exponent);
  const float f = std::bit_cast<float>((u & 0x007fffffu) + 0x3f3504f3u) - 1.0f;
  const float q =
      polynomial({0.0674660131f, -0.116756409f, 0.118881747f, -0.124055915f, 0.142195508f,
                  -0.166679963f, 0.200021192f, -0.250000089f, 0.333333135f},
                 f);
  const float square = f * f;
  float y = (square * f) * q;
  y = std::fma(k, -2.12194440e-4f, y);
  y = std::fma(-0.5f, square, y);
  return std::fma(k, 0.693359375f, f + y);
}

float tanh(float x) {
  if (std::isnan(x)) return kNan;
  const float size = std::fabs(x);
  if (size < 0.625f) {
    const float square = x * x;
    const float q = polynomial({0.00214295881f, -0.00817739498f, 0.0217007007f, -0.0539467633f,
                                0.133332059f, -0.333333313f},
                               square);
    return std::copysign(std::fma(size * square, q, size), x);
  }
  return std::copysign(1.0f - 2.0f / (exp(size + size) + 1.0f), x);
}

}  // namespace nb::kernels::reference
