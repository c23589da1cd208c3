// The arithmetic peak of the level in use on all threads, measured now: what rates of the same
// process and moment are shares of.
#pragma once

#include "model/tensor/dtype.hpp"

namespace nb {

// Of products with these inputs, out of registers; the best of a few loops of some milliseconds.
double peak_rate_gflop_s(DType inputs);
// The same on average over about that long: what a neighbour on the host takes from a program that
// runs as long, it takes from this.
double mean_peak_rate_gflop_s(DType inputs, double time_s);

}  // namespace nb
