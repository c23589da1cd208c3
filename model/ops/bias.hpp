// Plus a vector that every row meets, as behind a product.
#pragma once

#include <string_view>

#include "model/autograd/parameter.hpp"

namespace nb::ops {

// x (rows, C) plus bias (C).
Tensor add_bias(const Tensor& x, Parameter& bias, std::string_view label);

}  // namespace nb::ops
