// Residual addition; its backward hands the gradient to both sides, so only sums of gradients need
// arithmetic.
#pragma once

#include "model/kernels/matmul.hpp"
#include "model/tensor/dtype.hpp"
#include "model/tensor/view.hpp"

namespace nb::kernels {

void add(ConstMatrix a, ConstMatrix b, Matrix out,
         DType storage);  // round(a + b); out may be a or b

// The same where a product's block stands, b being its values. On this thread.
void add_block(ConstMatrix a, const ProductBlock& block, Matrix out, DType storage);

}  // namespace nb::kernels
