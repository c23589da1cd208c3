// Inverted dropout: elements become 0 with probability `rate`, the others grow by 1 / (1 - rate).
#pragma once

#include <string_view>

#include "harness/base/rng.hpp"
#include "model/device/tensor.hpp"

namespace nb::ops {

// Which ones is a function of rng and the element's index alone: give every call of a step another
// purpose. rate 0: x itself, and nothing is launched.
Tensor dropout(const Tensor& x, double rate, const Rng& rng, std::string_view label);

}  // namespace nb::ops
