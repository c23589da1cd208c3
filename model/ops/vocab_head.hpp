// The language-model head where each rank has some rows of w, and so the logits of some tokens
// (vocabulary-parallel, Megatron-LM, arXiv:1909.08053, 3): the loss over the tokens of all ranks.
// Logits never travel; three numbers a row do.
#pragma once

#include <cstdint>
#include <span>

#include "model/collectives/communicator.hpp"
#include "model/ops/head.hpp"

namespace nb::ops {

// As head_loss() of all rows of w together: x (rows, C) whole, w (this rank's tokens and padding,
// C), targets counted in the whole vocabulary, of which `first` is this rank's first one,
// options.vocab its tokens. The largest logit and the target's are exact; Σ exp is added in parts,
// in the profile's order of a sum. Every rank gets the same loss; the gradient of x is this rank's
// part of a sum.
Tensor vocab_head_loss(const Tensor& x, Parameter& w, std::span<const int> targets,
                       std::int64_t first, double scale, const HeadOptions& options,
                       Communicator& ranks);

}  // namespace nb::ops
