// Inverted dropout. Which elements go is a function of the generator and the element's index, row
// by row, so backward draws the same mask again and keeps none. Parallel inside.
#pragma once

#include "harness/base/rng.hpp"
#include "model/tensor/dtype.hpp"
#include "model/tensor/view.hpp"

namespace nb::kernels {

// Element k is +0 where rng.uniform(k) < rate, else round(x * (1 / (1 - rate))), the factor in
// double rounded to fp32. 0 <= rate < 1. Its own backward: dx of dy. out may be x.
void dropout(ConstMatrix x, double rate, const Rng& rng, Matrix out, DType storage);

}  // namespace nb::kernels
