// Element by element: residual sums.
#pragma once

#include <string_view>

#include "model/device/device.hpp"

namespace nb::ops {

// Residual sum; saves nothing that a backward needs.
Tensor add(Device& device, const Tensor& a, const Tensor& b, std::string_view label,
           SavedBlocks* saved);

}  // namespace nb::ops
