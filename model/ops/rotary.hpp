// Rotary position embedding of q or k, positions 0 … T-1 of each sequence.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "model/device/device.hpp"

namespace nb::ops {

// cos and sin, each (positions, head_dim / 2), in the storage dtype.
struct RotaryTables {
  Tensor cos;
  Tensor sin;
};
RotaryTables rotary_tables(Device& device, std::int64_t positions, std::int64_t head_dim);

// x (B·T, heads·head_dim) → same shape.
Tensor rotary(Device& device, const Tensor& x, const RotaryTables& tables, std::int64_t time,
              std::string_view label, SavedBlocks* saved);
// Row r of x (rows, heads·head_dim) stands at positions[r]; no backward. On the device: one
// sequence.
Tensor rotary(Device& device, const Tensor& x, const RotaryTables& tables,
              std::span<const std::int64_t> positions, std::string_view label);
Tensor rotary_backward(Device& device, const Tensor& dy, const RotaryTables& tables,
                       std::int64_t time, std::string_view label, SavedBlocks saved);

}  // namespace nb::ops
