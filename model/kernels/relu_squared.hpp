// h = relu(x)², the MLP's activation. relu(x) = x <= 0 ? +0 : x, so a NaN stays. Rounded once in
// both modes (relu is exact, so eager and fused agree). Saves x.
#pragma once

#include "model/kernels/matmul.hpp"
#include "model/tensor/dtype.hpp"
#include "model/tensor/view.hpp"

namespace nb::kernels {

void relu_squared(ConstMatrix x, Matrix out,
                  DType storage);  // round(relu(x) * relu(x)); out may be x
// dx = x <= 0 ? +0 : round(dy * (2x)); dx may be dy.
void relu_squared_backward(ConstMatrix dy, ConstMatrix x, Matrix dx, DType storage);

// The same of what stands at one place of each matrix, on this thread: a product's block.
void relu_squared_block(ConstMatrix x, Matrix out, const ProductBlock& block, DType storage);
void relu_squared_backward_block(ConstMatrix dy, ConstMatrix x, Matrix dx,
                                 const ProductBlock& block, DType storage);

// bf16 storage in two bytes: of a block's values, bf16 numbers. `x` keeps them where it has data.
void relu_squared_block(const ProductBlock& block, Bf16Matrix x, Bf16Matrix out);
void relu_squared_backward_block(const ProductBlock& dy, ConstAnyMatrix x, Bf16Matrix dx);

}  // namespace nb::kernels
