// Times one number, which is a constant or is learnt.
#pragma once

#include <cstdint>
#include <string_view>

#include "model/autograd/parameter.hpp"

namespace nb::ops {

Tensor scale(const Tensor& x, double factor, std::string_view label);
// factor: one element.
Tensor scale(const Tensor& x, Parameter& factor, std::string_view label);
// Element `index` of a vector, whose gradient has zeros elsewhere.
Tensor scale(const Tensor& x, Parameter& factors, std::int64_t index, std::string_view label);

}  // namespace nb::ops
