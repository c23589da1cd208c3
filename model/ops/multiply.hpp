// Products of two activations, as in gated MLPs.
#pragma once

#include <string_view>

#include "model/device/tensor.hpp"

namespace nb::ops {

// a and b of one shape, element by element.
Tensor multiply(const Tensor& a, const Tensor& b, std::string_view label);

}  // namespace nb::ops
