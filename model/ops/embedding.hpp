// Rows of the embedding table, and their gradient.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "model/device/device.hpp"

namespace nb::ops {

// table (V,C), `rows` ids → (rows, C) in the storage dtype. `ids` may be empty on a dry device.
// saved != null: a backward follows.
Tensor embedding(Device& device, const Tensor& table, std::span<const int> ids, std::int64_t rows,
                 std::string_view label, SavedBlocks* saved);
// dy (rows, C) summed into dtable (V,C) in token order; not accumulate: dtable is zeroed first.
void embedding_backward(Device& device, const Tensor& dy, std::span<const int> ids, Tensor& dtable,
                        bool accumulate, std::string_view label, SavedBlocks saved);

}  // namespace nb::ops
