// A gate for each head of each row.
#pragma once

#include <string_view>

#include "model/device/tensor.hpp"

namespace nb::ops {

// x (rows, H·D), gate (rows, H): head h of x times gate h.
Tensor gate_heads(const Tensor& x, const Tensor& gate, std::string_view label);

}  // namespace nb::ops
