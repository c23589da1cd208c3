// What every part of a pass over the blocks needs to know. Lives for one call of Gpt.
#pragma once

#include <cstdint>

#include "model/device/device.hpp"
#include "model/gpt/config.hpp"
#include "model/gpt/parameter.hpp"
#include "model/ops/head_shape.hpp"
#include "model/ops/rotary.hpp"

namespace nb {

struct PassContext {
  Device& device;
  const GptConfig& config;
  const ops::RotaryTables& tables;
  std::int64_t batch;
  std::int64_t time;
  bool saves;  // a backward follows

  ops::HeadShape heads() const {
    return {batch, time, config.n_head, config.n_kv_head, config.head_dim()};
  }
  // Where an op puts its saved blocks: null when no backward follows.
  SavedBlocks* slot(SavedBlocks& blocks) const { return saves ? &blocks : nullptr; }
  std::vector<float>* slot(std::vector<float>& rows) const { return saves ? &rows : nullptr; }
};

// The six matrices of a block, in the order of Gpt::parameters().
struct BlockWeights {
  Parameter& c_q;
  Parameter& c_k;
  Parameter& c_v;
  Parameter& attn_proj;
  Parameter& c_fc;
  Parameter& mlp_proj;
};

// The gradient of p, allocated when there is none yet; accumulate tells which.
struct GradientSlot {
  Tensor& tensor;
  bool accumulate;
};
inline GradientSlot gradient_slot(Device& device, Parameter& p) {
  const bool accumulate = !p.grad.empty();
  if (!accumulate) p.grad = device.allocate(p.value.shape(), p.value.dtype(), p.name);
  return {p.grad, accumulate};
}

}  // namespace nb
