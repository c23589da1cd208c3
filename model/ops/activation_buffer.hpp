// How the host keeps values that products read: as halves, half of the memory and of its traffic,
// where a policy rounds them to bf16 before anybody reads them.
#pragma once

#include "model/device/device.hpp"

namespace nb::ops {

// kHalves or kYes: of what is rounded to storage and then read by products and by ops whose kernels
// take both forms.
HostBuffer activation_buffer(const Device& device);
// That of a result which has the form of x.
HostBuffer form_of(const Tensor& x);

}  // namespace nb::ops
