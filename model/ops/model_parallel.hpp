// Ops between ranks that share the rows, the columns or the vocabulary of one model. Sums are made
// in the profile's order.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "model/collectives/communicator.hpp"
#include "model/device/tensor.hpp"
#include "model/ops/head.hpp"

namespace nb::ops {

// Rows of tokens that tensor-parallel ranks share between their products (sequence parallelism,
// arXiv:2205.05198, 4.2.2): rank r of p has the rows [r, r + 1) · rows / p. NB_CHECK: p divides the
// rows.

// x (rows / p, C) of every rank → (rows, C), by an all-gather. Its gradient is a part of a sum on
// each rank: a reduce-scatter.
Tensor all_rows(const Tensor& x, Communicator& ranks);
// y (rows, C), a part of a sum on each rank → this rank's rows (rows / p, C) of the sum, by a
// reduce-scatter. Backward is an all-gather.
Tensor own_rows_of_sum(const Tensor& y, Communicator& ranks);
// This rank's rows of x (rows, C), which all ranks have. Backward is an all-gather.
Tensor own_rows(const Tensor& x, Communicator& ranks);

// Tokens against columns between ranks that each have some tokens of every sequence (Ulysses,
// arXiv:2309.14509, 3): an all-to-all behind which a rank has all tokens of some columns, and the
// way back. Each is the other's backward.

// p ranks, of which rank r has the tokens [r·T/p, (r + 1)·T/p) of B = batch sequences.
// x (B·T/p, C) → (B·T, C/p), columns [r·C/p, (r + 1)·C/p). NB_CHECK: p divides C.
Tensor tokens_to_columns(const Tensor& x, std::int64_t batch, std::string_view label,
                         Communicator& ranks);
// x (B·T, C/p) → (B·T/p, C).
Tensor columns_to_tokens(const Tensor& x, std::int64_t batch, std::string_view label,
                         Communicator& ranks);

// The language-model head where each rank has some rows of w, and so the logits of some tokens
// (vocabulary-parallel, Megatron-LM, arXiv:1909.08053, 3): the loss over the tokens of all ranks.
// Logits never travel; three numbers per row do.

// As head_loss() of all rows of w together: x (rows, C) whole, w (this rank's tokens and padding,
// C), targets counted in the whole vocabulary, of which `first` is this rank's first one,
// options.vocab its tokens. The largest logit and the target's are exact; Σ exp is added in parts.
// Every rank gets the same loss; the gradient of x is this rank's part of a sum.
Tensor vocab_head_loss(const Tensor& x, Parameter& w, std::span<const int> targets,
                       std::int64_t first, double scale, const HeadOptions& options,
                       Communicator& ranks);

}  // namespace nb::ops
