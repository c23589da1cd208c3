// Causal self-attention of one block: three projections, rotary, QK-norm, attention, output
// projection, residual sum. nanochat's gpt.py. The norm before it belongs to block.hpp.
#pragma once

#include "model/gpt/activations.hpp"
#include "model/gpt/context.hpp"

namespace nb {

// n (B·T, C) normalised input, x (B·T, C) residual stream → x plus the output. Takes n into `a`
// when a backward follows.
Tensor attention_forward(const PassContext& context, const BlockWeights& weights, Tensor n,
                         const Tensor& x, AttentionActivations& a);
// dy: gradient of the output and of x. Returns the gradient of n; adds to the gradients of the four
// matrices; empties `a`.
Tensor attention_backward(const PassContext& context, const BlockWeights& weights, const Tensor& dy,
                          AttentionActivations& a);

}  // namespace nb
