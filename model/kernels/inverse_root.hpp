// 1 / sqrt(x) as the norms take it. The vector units' own reciprocal square root is approximate on
// some accelerators: within 1e-4 in fp32 (asc-devkit, Rsqrt; which bits is not documented). Here:
// the exact result with 14 significant bits, 6.1e-5 at most.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

#include "model/kernels/policy.hpp"

namespace nb::kernels {

// Rounded to nearest even with 14 significant bits; infinities and NaN stay.
inline float with_14_bits(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  return std::bit_cast<float>((bits + 0x1ffu + ((bits >> 10) & 1u)) & ~0x3ffu);
}

inline float inverse_root(float x, Rsqrt how) {
  const float root = 1.0f / std::sqrt(x);
  return how == Rsqrt::kPrecise ? root : with_14_bits(root);
}

}  // namespace nb::kernels
