// Rows and columns that are chosen, not computed: of the embedding table, of other positions.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "model/autograd/parameter.hpp"
#include "model/device/device.hpp"

namespace nb::ops {

// table (V,C), `rows` ids → (rows, C) in the storage dtype. `ids` may be empty on a dry device. The
// gradient is summed in token order.
Tensor embedding(Parameter& table, std::span<const int> ids, std::int64_t rows);

// x (…, cols) → (rows.size(), cols): row i is row rows[i] of x, or zeros where that is -1. No
// backward.
Tensor gather_rows(Device& device, const Tensor& x, std::span<const std::int64_t> rows,
                   std::string_view label);

// x (rows, C) → (rows, count): the first columns.
Tensor first_columns(const Tensor& x, std::int64_t count, std::string_view label);

// What stood at the position before: x (sequences of `time` rows, C) → same shape; row t of a
// sequence is row t - 1 of x, and zeros where t is 0.
Tensor previous_rows(const Tensor& x, std::int64_t time, std::string_view label);

}  // namespace nb::ops
