// How many rows a card holds in a micro-batch, and by what margin: the largest batch that fits,
// whether or not it divides the step, and the smallest capacity that it and the next one would fit.
// Found by halving: the next row does not fit, though some larger batch may, whose tensors happen
// to fill the allocator's segments better. By dry steps; nothing is computed.
#pragma once

#include <cstdint>
#include <optional>

#include "harness/base/result.hpp"
#include "model/device/node_links.hpp"
#include "model/device/profile.hpp"
#include "model/train/predict.hpp"

namespace nb {

// A margin within this share of the capacity is said to be borderline: our own error is as large.
inline constexpr double kBorderlineShare = .02;

struct FittingBatch {
  std::int64_t rows = 0;             // 0: not even one row fits
  std::uint64_t capacity_bytes = 0;  // that the framework sees
  std::uint64_t needed_bytes =
      0;  // smallest capacity that `rows` fit, to a thousandth; of 0 rows: 0
  std::uint64_t next_needed_bytes = 0;  // that one row more would
  // Of the capacity: what `rows` leave, what the next row lacks.
  double margin() const;
  double next_lack() const;
  bool is_borderline() const;  // either is within kBorderlineShare
};

// Every step is taken to have more than one micro-batch: gradients are there while activations
// grow. settings.device_batch_size and total_batch_tokens decide nothing. bad_input: as predict().
Result<FittingBatch> fit_batch(const PredictSettings& settings, const DeviceProfile& profile,
                               const std::optional<NodeLinkProfile>& between_nodes = {});

// The same device with that share of its capacity.
DeviceProfile with_capacity(DeviceProfile profile, double share);

}  // namespace nb
