// h = relu(x)², the MLP's activation. relu(x) = x <= 0 ? +0 : x, so a NaN stays. Rounded once in
// both modes (relu is exact, so eager and fused agree). Saves x.
#pragma once

#include "model/tensor/dtype.hpp"
#include "model/tensor/view.hpp"

namespace nb::kernels {

void relu_squared(ConstMatrix x, Matrix out,
                  DType storage);  // round(relu(x) * relu(x)); out may be x
// dx = x <= 0 ? +0 : round(dy * (2x)); dx may be dy.
void relu_squared_backward(ConstMatrix dy, ConstMatrix x, Matrix dx, DType storage);

}  // namespace nb::kernels
