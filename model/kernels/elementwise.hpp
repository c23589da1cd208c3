// Whole-array helpers: fill, copy with rounding, scale. Parallel inside.
#pragma once

#include <span>

#include "model/tensor/dtype.hpp"

namespace nb::kernels {

void fill(std::span<float> values, float value);
void cast(std::span<const float> from, std::span<float> to, DType dtype);  // to may be from
void scale(std::span<float> values, float factor);                         // values * factor, fp32

}  // namespace nb::kernels
