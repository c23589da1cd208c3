// Rows of the embedding table, and their gradient.
#pragma once

#include <cstdint>
#include <span>

#include "model/autograd/parameter.hpp"

namespace nb::ops {

// table (V,C), `rows` ids → (rows, C) in the storage dtype. `ids` may be empty on a dry device. The
// gradient is summed in token order.
Tensor embedding(Parameter& table, std::span<const int> ids, std::int64_t rows);

}  // namespace nb::ops
