// Matrices transposed, sixteen rows by sixteen columns at a time.
#pragma once

#include "model/tensor/view.hpp"

namespace nb::kernels {

// to (C,R) = fromᵀ of from (R,C); they share no element. Parallel inside.
void transpose(ConstMatrix from, Matrix to);

// c (N,N): what lies above the diagonal out of what lies below it. Parallel inside.
void mirror_lower(Matrix c);

}  // namespace nb::kernels
