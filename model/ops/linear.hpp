// y = x wᵀ, and a bias behind it. x (…, inner), w (out, inner): leading sizes are joined to rows.
#pragma once

#include <string_view>

#include "model/autograd/tape.hpp"
#include "model/device/device.hpp"

namespace nb::ops {

// (rows, out) in the storage dtype, labelled as the weight is.
Tensor linear(const Tensor& x, Parameter& w);

// Its gradients. dx (rows, inner) = dy w.
Tensor linear_backward_input(const Tensor& dy, const Tensor& w, std::string_view label);
// w.grad (out, inner) += dyᵀ x, or = where there is none yet; rounded as the policy says.
void linear_backward_weight(const Tensor& dy, const Tensor& x, Parameter& w, SavedBlocks saved);
void linear_backward_weight(const Tensor& dy, const Tensor& x, const GradientSlot& dw,
                            std::string_view label, SavedBlocks saved);

// x (rows, C) plus bias (C), which every row meets.
Tensor add_bias(const Tensor& x, Parameter& bias, std::string_view label);

}  // namespace nb::ops
