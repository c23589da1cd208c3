// Times a vector that every row meets, as behind a norm.
#pragma once

#include <string_view>

#include "model/autograd/parameter.hpp"

namespace nb::ops {

// x (rows, C) times gain (C).
Tensor apply_gain(const Tensor& x, Parameter& gain, std::string_view label);

}  // namespace nb::ops
