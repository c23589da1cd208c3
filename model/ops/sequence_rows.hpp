// Rows of tokens that tensor-parallel ranks share between their products (sequence parallelism,
// arXiv:2205.05198, 4.2.2): rank r of p has the rows [r, r + 1) · rows / p. NB_CHECK: p divides the
// rows. Sums are made in the profile's order.
#pragma once

#include <string_view>

#include "model/collectives/communicator.hpp"
#include "model/device/tensor.hpp"

namespace nb::ops {

// x (rows / p, C) of every rank → (rows, C), by an all-gather. Its gradient is a part of a sum on
// each rank: a reduce-scatter.
Tensor all_rows(const Tensor& x, Communicator& ranks);

// y (rows, C), a part of a sum on each rank → this rank's rows (rows / p, C) of the sum, by a
// reduce-scatter. Backward is an all-gather.
Tensor own_rows_of_sum(const Tensor& y, Communicator& ranks);

// This rank's rows of x (rows, C), which all ranks have. Backward is an all-gather.
Tensor own_rows(const Tensor& x, Communicator& ranks);

}  // namespace nb::ops
