#include "model/kernels/inner/bf16_pair.hpp"

#include <cmath>

namespace nb::kernels::inner {
namespace {

float flushed(float x) { return std::fabs(x) < 0x1p-126f ? std::copysign(0.0f, x) : x; }

float fma_flushed(float a, float b, float c) {
  return flushed(std::fma(flushed(a), flushed(b), flushed(c)));
}

}  // namespace

float bf16_pair(float c, float a0, float a1, float b0, float b1) {
  return fma_flushed(a0, b0, fma_flushed(a1, b1, c));
}

}  // namespace nb::kernels::inner
