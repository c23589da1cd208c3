// What one block keeps from forward to backward: host values in Tensors, simulated blocks in
// SavedBlocks. One struct a block, reused by every micro-batch, so that the vectors keep their
// capacity.
#pragma once

#include <vector>

#include "model/device/device.hpp"
#include "model/ops/attention.hpp"

namespace nb {

struct AttentionActivations {
  Tensor n;         // (B·T, C) normalised input
  Tensor q_turned;  // after rotary, before the norm of q
  Tensor k_turned;
  Tensor q, k, v;  // as attention sees them
  Tensor y;        // output of attention, heads joined
  std::vector<float> q_rstd, k_rstd;
  ops::AttentionRows rows;
  SavedBlocks c_q, c_k, c_v, q_rotary, k_rotary, q_norm, k_norm, attention, c_proj, add;
};

struct MlpActivations {
  Tensor n;     // (B·T, C) normalised input
  Tensor wide;  // (B·T, 4C) before the activation
  Tensor h;     // (B·T, 4C) relu²
  SavedBlocks c_fc, relu_squared, c_proj, add;
};

struct BlockActivations {
  Tensor x;    // input of the block
  Tensor mid;  // after attention, input of the MLP's norm
  std::vector<float> x_rstd, mid_rstd;
  AttentionActivations attention;
  MlpActivations mlp;
  SavedBlocks x_norm, mid_norm;
};

}  // namespace nb
