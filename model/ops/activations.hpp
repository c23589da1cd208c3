// The functions between the products of an MLP or behind a gate, element by element.
#pragma once

#include <string_view>

#include "model/device/tensor.hpp"

namespace nb::ops {

// In the tanh form of GPT-2: 0.5 x (1 + tanh(sqrt(2/pi) (x + 0.044715 x³))).
Tensor gelu(const Tensor& x, std::string_view label);
// x / (1 + exp(-x)).
Tensor silu(const Tensor& x, std::string_view label);
// 1 / (1 + exp(-x)).
Tensor sigmoid(const Tensor& x, std::string_view label);
// relu(x)².
Tensor relu_squared(const Tensor& x, std::string_view label);

}  // namespace nb::ops
