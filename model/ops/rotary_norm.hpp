// Rotary embedding and QK-norm: two ops on the device, launched, timed and kept in memory as
// rotary.hpp and rms_norm.hpp do, whose arithmetic the host does in one pass. The first op of a
// pair only describes itself; the second computes both. So between the two
//   forward:  x keeps its values (Tensor::drop_block where its life ends), `turned` has none yet;
//   backward: dy and turned keep theirs, what the first op returns has no values at all.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "model/device/device.hpp"
#include "model/ops/rotary.hpp"

namespace nb::ops {

// Rows of x by position: sequences of `time`, or one position each where `each` is not empty.
struct Positions {
  std::int64_t time = 0;
  std::span<const std::int64_t> each = {};
};

// The tensor that rotary() would give; values only once its norm has run, and only where saved is
// not null.
Tensor rotary_before_norm(Device& device, const Tensor& x, const RotaryTables& tables,
                          const Positions& positions, std::string_view label, SavedBlocks* saved);
// rms_norm() of each head of turned = rotary(x).
Tensor rms_norm_after_rotary(Device& device, const Tensor& x, Tensor& turned,
                             const RotaryTables& tables, const Positions& positions,
                             std::string_view label, std::vector<float>* rstd, SavedBlocks* saved);

// Blocks and time of rms_norm_backward(); the result has no values.
Tensor rms_norm_backward_before_rotary(Device& device, const Tensor& dy, const Tensor& turned,
                                       const RotaryTables& tables, std::string_view label,
                                       SavedBlocks saved);
// rotary_backward() of `between` = rms_norm_backward(dy, turned, rstd), which the call before gave.
Tensor rotary_backward_after_norm(Device& device, const Tensor& between, const Tensor& dy,
                                  const Tensor& turned, const std::vector<float>& rstd,
                                  const RotaryTables& tables, std::int64_t time,
                                  std::string_view label, SavedBlocks saved);

}  // namespace nb::ops
