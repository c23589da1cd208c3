// The arithmetic peak of the level in use on all threads, measured now: what rates of the same
// process and moment are shares of.
#pragma once

#include "model/tensor/dtype.hpp"

namespace nb {

// Of products with these inputs, out of registers; the best of a few loops of some milliseconds.
double peak_rate_gflop_s(DType inputs);

}  // namespace nb
