// What Llama's norms and SwiGLU need besides the GPT's kernels. Forward only. Parallel inside.
#pragma once

#include "model/tensor/dtype.hpp"
#include "model/tensor/view.hpp"

namespace nb::kernels {

// out = round(x / (1 + exp(-x))), fp32 inside, one rounding. out may be x.
void silu(ConstMatrix x, Matrix out, DType storage);

// out = round(a * b); b has a's shape or one row that every row of a meets (a norm's gain). out may
// be a.
void multiply(ConstMatrix a, ConstMatrix b, Matrix out, DType storage);

}  // namespace nb::kernels
