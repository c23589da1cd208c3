// Both gradients of one Linear, in autograd's order: input, then weight.
#pragma once

#include <utility>

#include "model/gpt/context.hpp"
#include "model/ops/activation_buffer.hpp"
#include "model/ops/linear.hpp"

namespace nb {

// dy (B·T, out), x (B·T, in): adds to w.grad, frees what the forward saved.
inline void linear_backward_weight(Device& device, const Tensor& dy, const Tensor& x, Parameter& w,
                                   SavedBlocks saved) {
  const GradientSlot slot = gradient_slot(device, w);
  ops::linear_backward_weight(device, dy, x, slot.tensor, slot.accumulate, w.name,
                              std::move(saved));
}

// The same together with others of that x (ops/linear.hpp).
inline void linear_backward_weight(Device& device, const Tensor& dy, const Tensor& x, Parameter& w,
                                   SavedBlocks saved, ops::WeightGradients& together,
                                   ops::Arithmetic arithmetic) {
  const GradientSlot slot = gradient_slot(device, w);
  ops::linear_backward_weight(device, {&dy, &slot.tensor, slot.accumulate}, x, w.name,
                              std::move(saved), together, arithmetic);
}

// The first, and returns dx.
inline Tensor linear_backward(Device& device, const Tensor& dy, const Tensor& x, Parameter& w,
                              SavedBlocks saved) {
  Tensor dx = ops::linear_backward_input(device, dy, w.value, w.name, ops::Arithmetic::kNow,
                                         ops::activation_buffer(device));
  linear_backward_weight(device, dy, x, w, std::move(saved));
  return dx;
}

}  // namespace nb
