// Causal attention over whole sequences; each key-value head serves heads / kv_heads consecutive
// query heads.
#pragma once

#include <string_view>

#include "model/device/device.hpp"
#include "model/ops/head_shape.hpp"

namespace nb::ops {

// q (B·T, H·D), k and v (B·T, G·D) → (B·T, H·D).
Tensor attention(const Tensor& q, const Tensor& k, const Tensor& v, const HeadShape& shape,
                 std::string_view label);

}  // namespace nb::ops
