// Sums with what a linear has just computed and nothing else reads. The device launches both, as
// the eager framework does; the host adds each block of the product while it is in its cache.
#pragma once

#include <string_view>

#include "model/device/device.hpp"

namespace nb::ops {

// Residual sum a + x wᵀ, in the form of a. product: what ops::linear gave for x and w, kLater and
// without host values.
Tensor add_linear(Device& device, const Tensor& a, const Tensor& product, const Tensor& x,
                  const Tensor& w, std::string_view label, SavedBlocks* saved);
// a += dy w, two gradients that reach one tensor. product: of ops::linear_backward_input, kLater.
void add_linear_gradient(Device& device, Tensor& a, const Tensor& product, const Tensor& dy,
                         const Tensor& w, std::string_view label);

}  // namespace nb::ops
