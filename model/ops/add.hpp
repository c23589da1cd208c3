// Residual sums.
#pragma once

#include <string_view>

#include "model/device/tensor.hpp"

namespace nb::ops {

Tensor add(const Tensor& a, const Tensor& b, std::string_view label);

}  // namespace nb::ops
