// x / (1 + exp(-x)), element by element.
#pragma once

#include <string_view>

#include "model/device/tensor.hpp"

namespace nb::ops {

Tensor silu(const Tensor& x, std::string_view label);

}  // namespace nb::ops
