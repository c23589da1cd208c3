// Causal attention over whole sequences; each key-value head serves heads / kv_heads consecutive
// query heads.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "model/device/device.hpp"
#include "model/kernels/attention.hpp"
#include "model/ops/head_shape.hpp"

namespace nb::ops {

// Row maxima and sums, (B,H,T) each; on the device they are part of what `saved` holds.
struct AttentionRows {
  std::vector<float> max;
  std::vector<float> sum;
};
struct AttentionGradients {
  Tensor dq, dk, dv;
};

// q (B·T, H·D), k and v (B·T, G·D) → (B·T, H·D). rows and saved: both null when no backward
// follows.
Tensor attention(Device& device, const Tensor& q, const Tensor& k, const Tensor& v,
                 const HeadShape& shape, std::string_view label, AttentionRows* rows,
                 SavedBlocks* saved);
// Ragged batch over cached keys, no backward: see kernels::attention_cached. On the device it is
// one attention whose batch is 1, with the rows and keys of all sequences together and the visible
// pairs counted one by one (a "varlen" kernel): no padding is paid, a prefix that sequences share
// is read by each. In dry mode the segments' sizes count alone and their data may be null.
Tensor attention_cached(Device& device, const Tensor& q,
                        std::span<const kernels::CachedSequence> sequences,
                        const kernels::CachedShape& shape, std::string_view label);
// y: output of the forward.
AttentionGradients attention_backward(Device& device, const Tensor& dy, const Tensor& q,
                                      const Tensor& k, const Tensor& v, const Tensor& y,
                                      const HeadShape& shape, const AttentionRows& rows,
                                      std::string_view label, SavedBlocks saved);

}  // namespace nb::ops
