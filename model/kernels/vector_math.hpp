// fp32 functions with the same bits at every level: own polynomials in fused multiply-adds and IEEE
// division, no libm. Maximum errors, in units of the last place of the rounded result, are those
// over all 2^32 arguments; tested over 2^13 of every binade (tests/model/kernels/vector_math_test).
// The tanh of the soft-cap (cross_entropy.hpp) errs by at most 1.331 ulp; tanh(-0) = -0. A NaN
// argument gives the NaN 7fc00000. in and out have the same size and may be the same array.
#pragma once

#include <span>

namespace nb::kernels {

void exp(std::span<const float> in,
         std::span<float> out);  // <= 0.988 ulp, denormal results included; > 88.73: inf
void log(std::span<const float> in,
         std::span<float> out);  // <= 0.832 ulp; ±0: -inf, negative: NaN

float exp(float x);
float log(float x);

}  // namespace nb::kernels
