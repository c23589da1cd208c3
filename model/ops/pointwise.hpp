// Element by element: the MLP's activation and residual sums.
#pragma once

#include <string_view>

#include "model/device/device.hpp"

namespace nb::ops {

// relu(x)²
Tensor relu_squared(Device& device, const Tensor& x, std::string_view label, SavedBlocks* saved);
// x: input of the forward.
Tensor relu_squared_backward(Device& device, const Tensor& dy, const Tensor& x,
                             std::string_view label, SavedBlocks saved);
// Residual sum; saves nothing that a backward needs.
Tensor add(Device& device, const Tensor& a, const Tensor& b, std::string_view label,
           SavedBlocks* saved);
// a += b: two gradients that reach one tensor.
void add_gradient(Device& device, Tensor& a, const Tensor& b, std::string_view label);

}  // namespace nb::ops
