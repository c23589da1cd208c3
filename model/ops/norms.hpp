// Norms over rows, and the gain behind one.
#pragma once

#include <cstdint>
#include <string_view>

#include "model/autograd/parameter.hpp"
#include "model/kernels/rms_norm.hpp"

namespace nb::ops {

// RMS norm without gain over rows of `width` elements: width C is the norm of the residual stream,
// width D the norm of q and k (each head a row). Same shape as x.
Tensor rms_norm(const Tensor& x, std::int64_t width, std::string_view label,
                float epsilon = kernels::kRmsNormEpsilon);

// Layer norm over the last dimension (torch's F.layer_norm): x (rows, C), gain and bias (C).
Tensor layer_norm(const Tensor& x, Parameter& gain, Parameter& bias, float epsilon,
                  std::string_view label);

// x (rows, C) times gain (C), which every row meets.
Tensor apply_gain(const Tensor& x, Parameter& gain, std::string_view label);

}  // namespace nb::ops
