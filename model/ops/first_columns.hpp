// The first columns of a tensor.
#pragma once

#include <cstdint>
#include <string_view>

#include "model/device/tensor.hpp"

namespace nb::ops {

// x (rows, C) → (rows, count).
Tensor first_columns(const Tensor& x, std::int64_t count, std::string_view label);

}  // namespace nb::ops
