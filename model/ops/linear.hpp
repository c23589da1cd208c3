// y = x wᵀ without bias, and its two gradients. x (…, inner), w (out, inner): leading sizes are
// joined to rows.
#pragma once

#include <array>
#include <string_view>

#include "model/device/device.hpp"

namespace nb::ops {

// Whether the host computes in this launch, or the caller does in one that follows it.
enum class Arithmetic { kNow, kLater };

// y (rows, out) in the storage dtype. saved != null: a backward follows. host: kHalves only where
// activation_buffer() says so; of kLater, where the values are to go.
Tensor linear(Device& device, const Tensor& x, const Tensor& w, std::string_view label,
              SavedBlocks* saved, Arithmetic arithmetic = Arithmetic::kNow,
              HostBuffer host = HostBuffer::kYes);
// dx (rows, inner) = dy w. Keeps what the forward saved: the weight's gradient comes after.
// kLater: dx has no host values.
Tensor linear_backward_input(Device& device, const Tensor& dy, const Tensor& w,
                             std::string_view label, Arithmetic arithmetic = Arithmetic::kNow,
                             HostBuffer host = HostBuffer::kYes);
// dw (out, inner) = dyᵀ x, rounded as the policy says; accumulate: added to dw in fp32.
void linear_backward_weight(Device& device, const Tensor& dy, const Tensor& x, Tensor& dw,
                            bool accumulate, std::string_view label, SavedBlocks saved);

// Weight gradients of one x, a launch each, whose arithmetic the host does in the last launch: it
// reads x once. What is waiting lives until then, with its values.
struct WeightGradient {
  const Tensor* dy = nullptr;
  Tensor* dw = nullptr;
  bool accumulate = false;
};
struct WeightGradients {
  static constexpr std::size_t kMost = 3;
  std::array<WeightGradient, kMost> each;
  std::size_t count = 0;
};
// Adds one to `together`; kNow: the last one, and none is waiting then.
void linear_backward_weight(Device& device, const WeightGradient& gradient, const Tensor& x,
                            std::string_view label, SavedBlocks saved, WeightGradients& together,
                            Arithmetic arithmetic);

}  // namespace nb::ops
