// What Llama models need besides the GPT's ops: RMS norm with gain, SwiGLU's parts. No backward.
#pragma once

#include <string_view>

#include "model/device/device.hpp"

namespace nb::ops {

// x (…, C) over rows of C, then times gain (C), each a launch of its own and rounded.
Tensor rms_norm_with_gain(const Tensor& x, const Tensor& gain, float epsilon,
                          std::string_view label);
// x / (1 + exp(-x))
Tensor silu(const Tensor& x, std::string_view label);
// a, b of one shape, element by element.
Tensor multiply(const Tensor& a, const Tensor& b, std::string_view label);

}  // namespace nb::ops
