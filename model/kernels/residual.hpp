// Residual addition; its backward hands the gradient to both sides, so only sums of gradients need
// arithmetic.
#pragma once

#include "model/tensor/dtype.hpp"
#include "model/tensor/view.hpp"

namespace nb::kernels {

void add(ConstMatrix a, ConstMatrix b, Matrix out,
         DType storage);  // round(a + b); out may be a or b

}  // namespace nb::kernels
