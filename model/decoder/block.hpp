// One block of the GPT: x + Attn(RMS(x)), then x + MLP(RMS(x)). nanochat's gpt.py.
#pragma once

#include "model/autograd/parameter.hpp"
#include "model/decoder/config.hpp"
#include "model/ops/head_shape.hpp"
#include "model/ops/rotary.hpp"

namespace nb {

// The six matrices of a block, in the order of Decoder::parameters().
struct BlockWeights {
  Parameter& c_q;
  Parameter& c_k;
  Parameter& c_v;
  Parameter& attn_proj;
  Parameter& c_fc;
  Parameter& mlp_proj;
};

// x (B·T, C) → the same.
Tensor block(const Tensor& x, const BlockWeights& w, const ops::RotaryTables& tables,
             const ops::HeadShape& heads);
Tensor mlp(const Tensor& n, const BlockWeights& w);

}  // namespace nb
