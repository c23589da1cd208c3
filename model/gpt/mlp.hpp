// The MLP of one block: c_proj(relu(c_fc n)²), hidden width 4C, and the residual sum. nanochat's
// gpt.py.
#pragma once

#include "model/gpt/activations.hpp"
#include "model/gpt/context.hpp"

namespace nb {

// n (B·T, C) normalised input, mid the residual stream → mid + MLP(n).
Tensor mlp_forward(const PassContext& context, const BlockWeights& weights, Tensor n,
                   const Tensor& mid, MlpActivations& a);
// Returns the gradient of n; adds to the gradients of both matrices; empties `a`.
Tensor mlp_backward(const PassContext& context, const BlockWeights& weights, const Tensor& dy,
                    MlpActivations& a);

}  // namespace nb
