// 1 / (1 + exp(-x)), element by element.
#pragma once

#include <string_view>

#include "model/device/tensor.hpp"

namespace nb::ops {

Tensor sigmoid(const Tensor& x, std::string_view label);

}  // namespace nb::ops
