// GELU in the tanh form of GPT-2, element by element: 0.5 x (1 + tanh(sqrt(2/pi) (x + 0.044715
// x³))).
#pragma once

#include <string_view>

#include "model/device/tensor.hpp"

namespace nb::ops {

Tensor gelu(const Tensor& x, std::string_view label);

}  // namespace nb::ops
