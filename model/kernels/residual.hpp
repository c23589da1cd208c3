// Where a product's blocks go: into sums or memory. Residual addition; its backward hands the
// gradient to both sides, so only sums of gradients need arithmetic.
#pragma once

#include "model/kernels/matmul.hpp"
#include "model/tensor/dtype.hpp"
#include "model/tensor/view.hpp"

namespace nb::kernels {

// round(a + b); out may be a or b. a and out may be bf16, both, where storage is bf16.
void add(ConstAnyMatrix a, ConstMatrix b, AnyMatrix out, DType storage);

// The same where a product's block stands, b being its values. On this thread.
void add_block(ConstAnyMatrix a, const ProductBlock& block, AnyMatrix out, DType storage);

// A product's block into its place, whose values are bf16 numbers. On this thread.
void keep_block(const ProductBlock& block, Bf16Matrix out);

}  // namespace nb::kernels
