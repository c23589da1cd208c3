// The table in use, for the kernels of model/kernels.
#pragma once

#include "model/kernels/inner/table.hpp"
#include "model/kernels/policy.hpp"
#include "model/kernels/simd_level.hpp"

namespace nb::kernels::inner {

// Checks the float mode of this thread, then gives the level in use. Call it at a kernel's entry
// and again in every parallel body.
const Table& table();

const Table* compiled_table(SimdLevel level);  // nullptr: not compiled in

int rounding_of(DType dtype, bool fp16_saturates = false);
inline int rounding_of(const PointwisePolicy& policy) {
  return rounding_of(policy.storage, policy.fp16_saturates);
}

}  // namespace nb::kernels::inner
