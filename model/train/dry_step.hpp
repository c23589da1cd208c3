// One steady training step of a card on a dry device, of BASE, MID, SFT or RL, as the stages make
// it (compiled or not, with or without clipping): what predict() prints, and the search for the
// largest micro-batch that fits. Pure simulation.
#pragma once

#include <cstdint>
#include <optional>

#include "model/decoder/config.hpp"
#include "model/device/node_links.hpp"
#include "model/device/profile.hpp"
#include "model/train/step_row.hpp"

namespace nb {

// What a card generates in a step of RL before it trains on it: every request's samples have one
// prompt, and none ends before its last token.
struct DryRollout {
  std::int64_t requests = 1;
  std::int64_t samples = 1;  // of a request, generated together
  std::int64_t prompt_tokens = 1;
  std::int64_t answer_tokens = 1;
};

struct DryStepRequest {
  DecoderConfig config;
  std::int64_t cards = 1;  // on all nodes together; the same number on each
  std::int64_t nodes = 1;
  std::optional<NodeLinkProfile> between_nodes = {};
  std::int64_t device_batch_size = 1;
  std::int64_t accumulation_steps = 1;
  std::optional<double> grad_clip = 1;          // none: as the stages after BASE
  TrainingStage stage = TrainingStage::kBase;   // not DPO
  std::optional<std::int64_t> row_tokens = {};  // of a row; absent: the model's sequence_len
  std::optional<DryRollout> rollout = {};       // of RL
  bool recompute = false;                       // blocks are computed again in backward
  bool simulates_all = false;  // every micro-batch, though they are equal: the same figures, later
};
struct DryStep {
  std::int64_t step_time_ns = 0;
  std::int64_t communication_time_ns = 0;
  std::int64_t generate_time_ns = 0;  // part of the step that RL's answers take
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
