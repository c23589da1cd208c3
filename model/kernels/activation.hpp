// silu, sigmoid and GELU, element by element. fp32 inside, one rounding in both pointwise modes:
// each is one kernel of PyTorch eager, forward and backward. exp and tanh are those of
// vector_math.hpp. Parallel inside; out may be an operand.
#pragma once

#include "model/tensor/dtype.hpp"
#include "model/tensor/view.hpp"

namespace nb::kernels {

// out = round(x / (1 + exp(-x))).
void silu(ConstMatrix x, Matrix out, DType storage);
// s = 1 / (1 + exp(-x)); dx = round((dy * s) * (1 + x * (1 - s))).
void silu_backward(ConstMatrix dy, ConstMatrix x, Matrix dx, DType storage);

// out = round(1 / (1 + exp(-x))).
void sigmoid(ConstMatrix x, Matrix out, DType storage);
// y: the rounded result. dx = round((dy * (1 - y)) * y).
void sigmoid_backward(ConstMatrix dy, ConstMatrix y, Matrix dx, DType storage);

// The tanh form (torch's gelu(approximate="tanh")), a = sqrt(2 / pi), b = 0.044715 in fp32:
// t = tanh(a * (x + b * ((x * x) * x))); out = round((0.5 * x) * (1 + t)).
void gelu(ConstMatrix x, Matrix out, DType storage);
// slope = 0.5 * (1 + t) + ((0.5 * x) * (1 - t * t)) * (a * (1 + (3 * b) * (x * x)));
// dx = round(dy * slope).
void gelu_backward(ConstMatrix dy, ConstMatrix x, Matrix dx, DType storage);

}  // namespace nb::kernels
