// A Linear and the relu² behind it, two launches on the device: on the host each block of the
// product goes through relu² while it is in the cache. Bits are those of linear.hpp and relu².
// Where products take halves, the wide tensors are halves (Tensor::numbers()): half of the host's
// memory and of its traffic.
#pragma once

#include <string_view>

#include "model/device/device.hpp"

namespace nb::ops {

struct WideAndActivated {
  Tensor wide;  // x wᵀ; unspecified where no backward follows
  Tensor h;     // relu(wide)²
};
// w (out, inner). The saved blocks: null, no backward follows.
WideAndActivated linear_relu_squared(Device& device, const Tensor& x, const Tensor& w,
                                     std::string_view linear_label, std::string_view label,
                                     SavedBlocks* linear_saved, SavedBlocks* saved);

// The gradient of wide, given that of y = h wᵀ, w (out, inner). dh = dy w is launched already:
// linear_backward_input, kLater.
Tensor linear_relu_squared_backward(Device& device, const Tensor& dy, const Tensor& w,
                                    const Tensor& dh, const Tensor& wide, std::string_view label,
                                    SavedBlocks saved);

}  // namespace nb::ops
