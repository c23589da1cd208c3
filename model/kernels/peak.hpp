// The arithmetic peak of the level in use, out of registers: what a product can be measured against
// in the same process at the same moment (a share of it holds on any host and under any load).
#pragma once

#include "model/tensor/dtype.hpp"

namespace nb::kernels {

// Runs about `flop` operations of a product with these inputs on each of threads() threads; gives
// the number run on all of them together. Time it outside.
double run_peak_loop(DType inputs, double flop_per_thread);

}  // namespace nb::kernels
