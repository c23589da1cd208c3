// Some rows of a tensor, side by side.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "model/device/device.hpp"

namespace nb::ops {

// x (…, cols) → (rows.size(), cols): row i is row rows[i] of x, or zeros where that is -1. No
// backward.
Tensor gather_rows(Device& device, const Tensor& x, std::span<const std::int64_t> rows,
                   std::string_view label);

}  // namespace nb::ops
