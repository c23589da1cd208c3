// Whole-array helpers: fill, copy with rounding, scale, sums. Parallel inside.
#pragma once

#include <span>

#include "model/tensor/dtype.hpp"

namespace nb::kernels {

void fill(std::span<float> values, float value);
void cast(std::span<const float> from, std::span<float> to, DType dtype);  // to may be from
void scale(std::span<float> values, float factor);                         // values * factor, fp32
// out = round(a + b) and values = round(values / divisor); out may be a or b.
void add(std::span<const float> a, std::span<const float> b, std::span<float> out, DType dtype);
void divide(std::span<float> values, float divisor, DType dtype);

}  // namespace nb::kernels
