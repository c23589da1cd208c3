// One block: x + Attn(RMS(x)), then x + MLP(RMS(x)). nanochat's gpt.py.
#pragma once

#include "model/gpt/activations.hpp"
#include "model/gpt/context.hpp"

namespace nb {

// x (B·T, C) → (B·T, C). Keeps in `a` what the backward needs, when one follows.
Tensor block_forward(const PassContext& context, const BlockWeights& weights, Tensor x,
                     BlockActivations& a);
// dx: gradient of the output; returns that of the input. Adds to the gradients of the weights;
// empties `a`.
Tensor block_backward(const PassContext& context, const BlockWeights& weights, Tensor dx,
                      BlockActivations& a);

}  // namespace nb
