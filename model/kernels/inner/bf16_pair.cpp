#include "model/kernels/inner/bf16_pair.hpp"

#include <cmath>

namespace nb::kernels::inner {
namespace {

float read(float x) { return std::fabs(x) < 0x1p-126f ? std::copysign(0.0f, x) : x; }

float fma_flushed(float a, float b, float c) {
  a = read(a), b = read(b), c = read(c);
  // What rounds to 2^-126 with an unbounded exponent is at least 2^-126 - 2^-151. The double is
  // exact there: bits that it would lose lie below 2^-179, where the product cannot reach that
  // bound from c, a multiple of 2^-149.
  const double sum =
      std::fma(static_cast<double>(a), static_cast<double>(b), static_cast<double>(c));
  if (std::fabs(sum) < 0x1p-126 - 0x1p-151) return std::copysign(0.0f, static_cast<float>(sum));
  return std::fma(a, b, c);
}

}  // namespace

float bf16_pair(float c, float a0, float a1, float b0, float b1) {
  return fma_flushed(a0, b0, fma_flushed(a1, b1, c));
}

}  // namespace nb::kernels::inner
