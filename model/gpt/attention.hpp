// Causal self-attention of one block: three projections, rotary, QK-norm, attention, output
// projection. nanochat.md §1.2. The norm before it and the residual sum after it belong to
// block.hpp.
#pragma once

#include "model/gpt/activations.hpp"
#include "model/gpt/context.hpp"

namespace nb {

// n (B·T, C) normalised input → (B·T, C). Takes n into `a` when a backward follows.
Tensor attention_forward(const PassContext& context, const BlockWeights& weights, Tensor n,
                         AttentionActivations& a);
// dy: gradient of the output. Returns the gradient of n; adds to the gradients of the four
// matrices; empties `a`.
Tensor attention_backward(const PassContext& context, const BlockWeights& weights, const Tensor& dy,
                          AttentionActivations& a);

}  // namespace nb
