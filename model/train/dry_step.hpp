// One steady training step of a card on a dry device: what predict() prints, and the search for the
// largest micro-batch that fits. Pure simulation.
#pragma once

#include <cstdint>
#include <optional>

#include "model/decoder/config.hpp"
#include "model/device/node_links.hpp"
#include "model/device/profile.hpp"

namespace nb {

struct DryStepRequest {
  DecoderConfig config;
  std::int64_t cards = 1;  // on all nodes together; the same number on each
  std::int64_t nodes = 1;
  std::optional<NodeLinkProfile> between_nodes = {};
  std::int64_t device_batch_size = 1;
  std::int64_t accumulation_steps = 1;
  double grad_clip = 1;
  bool recompute = false;  // blocks are computed again in backward
};
struct DryStep {
  std::int64_t step_time_ns = 0;
  std::int64_t communication_time_ns = 0;
  std::uint64_t peak_allocated_bytes = 0;
  std::uint64_t peak_reserved_bytes = 0;
};

// The third step: state exists, the allocator's cache is warm. Throws OutOfMemory.
DryStep run_dry_step(const DryStepRequest& request, const DeviceProfile& profile);

// Does a step with that batch fit in memory? Its time is not computed.
bool step_fits(const DryStepRequest& request, const DeviceProfile& profile);

// Largest device_batch_size <= request.device_batch_size whose step fits in memory; 0: not even one
// row. Accumulation beyond one micro-batch is taken as request.accumulation_steps > 1.
std::int64_t largest_fitting_batch(DryStepRequest request, const DeviceProfile& profile);

}  // namespace nb
