// RMS norm without gain over rows of `width` elements: width C is the norm of the residual stream,
// width D the norm of q and k (each head a row).
#pragma once

#include <cstdint>
#include <string_view>

#include "model/device/tensor.hpp"
#include "model/kernels/rms_norm.hpp"

namespace nb::ops {

// Same shape as x.
Tensor rms_norm(const Tensor& x, std::int64_t width, std::string_view label,
                float epsilon = kernels::kRmsNormEpsilon);

}  // namespace nb::ops
