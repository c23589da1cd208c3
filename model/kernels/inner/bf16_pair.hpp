// Software model of one lane of VDPBF16PS (Intel SDM; the same on AMD since Zen 4): the pair's
// second element first, each fma rounded to nearest even, denormal inputs read as zero, and results
// below 2^-126 after rounding with an unbounded exponent flushed to a zero of the same sign. For
// tests; the products never need the flushing (policy.hpp, floor).
#pragma once

namespace nb::kernels::inner {

// a0, a1, b0, b1: values representable in bf16.
float bf16_pair(float c, float a0, float a1, float b0, float b1);

}  // namespace nb::kernels::inner
