// relu(x)², element by element.
#pragma once

#include <string_view>

#include "model/device/tensor.hpp"

namespace nb::ops {

Tensor relu_squared(const Tensor& x, std::string_view label);

}  // namespace nb::ops
