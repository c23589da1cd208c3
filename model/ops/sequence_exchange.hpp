// Tokens against columns between ranks that each have some tokens of every sequence (Ulysses,
// arXiv:2309.14509, 3): an all-to-all behind which a rank has all tokens of some columns, and the
// way back. Each is the other's backward.
#pragma once

#include <cstdint>
#include <string_view>

#include "model/collectives/communicator.hpp"
#include "model/device/tensor.hpp"

namespace nb::ops {

// p ranks, of which rank r has the tokens [r·T/p, (r + 1)·T/p) of B = batch sequences.
// x (B·T/p, C) → (B·T, C/p), columns [r·C/p, (r + 1)·C/p). NB_CHECK: p divides C.
Tensor tokens_to_columns(const Tensor& x, std::int64_t batch, std::string_view label,
                         Communicator& ranks);
// x (B·T, C/p) → (B·T/p, C).
Tensor columns_to_tokens(const Tensor& x, std::int64_t batch, std::string_view label,
                         Communicator& ranks);

}  // namespace nb::ops
