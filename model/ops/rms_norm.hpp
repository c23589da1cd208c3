// RMS norm without gain over rows of `width` elements: width C is the norm of the residual stream,
// width D the norm of q and k (each head a row).
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "model/device/device.hpp"

namespace nb::ops {

// Same shape as x. rstd: filled (one a row) when a backward follows; it stands for what `saved`
// holds. host: of the result; halves where activation_buffer() says so.
Tensor rms_norm(Device& device, const Tensor& x, std::int64_t width, std::string_view label,
                std::vector<float>* rstd, SavedBlocks* saved, HostBuffer host = HostBuffer::kYes);
// x: input of the forward. Same shape as dy.
Tensor rms_norm_backward(Device& device, const Tensor& dy, const Tensor& x, std::int64_t width,
                         const std::vector<float>& rstd, std::string_view label, SavedBlocks saved,
                         HostBuffer host = HostBuffer::kYes);

// dx += the norm's backward, one host kernel under two ops (README.md): the two gradients of a
// residual's input.
void rms_norm_backward_add(Device& device, const Tensor& dy, const Tensor& x, std::int64_t width,
                           const std::vector<float>& rstd, std::string_view norm_label,
                           SavedBlocks saved, Tensor& dx, std::string_view add_label);

}  // namespace nb::ops
