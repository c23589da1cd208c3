// Parts of a matrix where they are, or one row later: copies and zeros, bit for bit. Parallel
// inside; no operand may overlap the result.
#pragma once

#include <cstdint>

#include "model/tensor/view.hpp"

namespace nb::kernels {

// out (rows, n) = the first n columns of x.
void first_columns(ConstMatrix x, Matrix out);
// dx: dy in the first columns, +0 in the others.
void first_columns_backward(ConstMatrix dy, Matrix dx);

// Row t of each sequence of `time` rows is row t - 1 of x; +0 where t is 0.
void previous_rows(ConstMatrix x, std::int64_t time, Matrix out);
// Row t is row t + 1 of dy; +0 in the last one.
void previous_rows_backward(ConstMatrix dy, std::int64_t time, Matrix dx);

}  // namespace nb::kernels
