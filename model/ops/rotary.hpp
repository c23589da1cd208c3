// Rotary position embedding of q or k.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "model/device/device.hpp"
#include "model/kernels/rotary.hpp"

namespace nb::ops {

using RotaryLayout = kernels::RotaryLayout;  // which numbers are rotated together, and which way

struct RotaryOptions {
  double base = 10000;  // angle of pair i at position t: t * base^(-2i / head_dim)
  RotaryLayout layout = RotaryLayout::kHalvesReversed;
};

// cos and sin, each (positions, head_dim / 2), in the storage dtype; sin is negated for kHalves.
struct RotaryTables {
  Tensor cos;
  Tensor sin;
  RotaryLayout layout = RotaryLayout::kHalvesReversed;
  std::int64_t head_dim() const { return 2 * cos.shape().last(); }
};
RotaryTables rotary_tables(Device& device, std::int64_t positions, std::int64_t head_dim,
                           const RotaryOptions& options = {});

// Where the rows of x stand: in sequences of `time`, or one position each where `each` is not empty
// (on the device: one sequence).
struct Positions {
  std::int64_t time = 0;
  std::span<const std::int64_t> each = {};
};

// x (rows, heads·head_dim) → same shape.
Tensor rotary(const Tensor& x, const RotaryTables& tables, const Positions& positions,
              std::string_view label);

}  // namespace nb::ops
