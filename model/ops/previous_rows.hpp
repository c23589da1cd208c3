// What stood at the position before.
#pragma once

#include <cstdint>
#include <string_view>

#include "model/device/tensor.hpp"

namespace nb::ops {

// x (sequences of `time` rows, C) → same shape: row t of a sequence is row t - 1 of x, and zeros
// where t is 0.
Tensor previous_rows(const Tensor& x, std::int64_t time, std::string_view label);

}  // namespace nb::ops
