// Layer norm with gain and bias over the last dimension (torch's F.layer_norm).
#pragma once

#include <string_view>

#include "model/autograd/parameter.hpp"

namespace nb::ops {

// x (rows, C), gain and bias (C).
Tensor layer_norm(const Tensor& x, Parameter& gain, Parameter& bias, float epsilon,
                  std::string_view label);

}  // namespace nb::ops
