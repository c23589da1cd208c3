// Causal attention over whole sequences; each key-value head serves heads / kv_heads consecutive
// query heads.
#pragma once

#include <span>
#include <string_view>

#include "model/device/device.hpp"
#include "model/kernels/attention.hpp"
#include "model/ops/head_shape.hpp"

namespace nb::ops {

// q (B·T, H·D), k and v (B·T, G·D) → (B·T, H·D).
Tensor attention(const Tensor& q, const Tensor& k, const Tensor& v, const HeadShape& shape,
                 std::string_view label);
// Ragged batch over cached keys, no backward: see kernels::attention_cached. On the device it is
// one attention whose batch is 1, with the rows and keys of all sequences together and the visible
// pairs counted one by one (a "varlen" kernel): no padding is paid, a prefix that sequences share
// is read by each. In dry mode the segments' sizes count alone and their data may be null.
Tensor attention_cached(Device& device, const Tensor& q,
                        std::span<const kernels::CachedSequence> sequences,
                        const kernels::CachedShape& shape, std::string_view label);

}  // namespace nb::ops
