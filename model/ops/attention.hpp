// Causal attention over whole sequences; each key-value head serves heads / kv_heads consecutive
// query heads.
#pragma once

#include <string_view>
#include <vector>

#include "model/device/device.hpp"
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
// y: output of the forward.
AttentionGradients attention_backward(Device& device, const Tensor& dy, const Tensor& q,
                                      const Tensor& k, const Tensor& v, const Tensor& y,
                                      const HeadShape& shape, const AttentionRows& rows,
                                      std::string_view label, SavedBlocks saved);

}  // namespace nb::ops
