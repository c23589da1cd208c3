// Naive definitions of the element-by-element kernels. Same parameters as the kernels of the same
// name.
#pragma once

#include <span>

#include "model/kernels/adamw.hpp"
#include "model/tensor/view.hpp"

namespace nb::kernels::reference {

void add(ConstMatrix a, ConstMatrix b, Matrix out, DType storage);
void relu_squared(ConstMatrix x, Matrix out, DType storage);
void relu_squared_backward(ConstMatrix dy, ConstMatrix x, Matrix dx, DType storage);
void adamw(std::span<float> parameter, std::span<const float> gradient, std::span<float> m,
           std::span<float> v, const AdamWSettings& settings);
double sum_of_squares(std::span<const float> values);

}  // namespace nb::kernels::reference
