// One steady training step of a card on a dry device, of BASE, MID, SFT or RL, as the stages make
// it (compiled or not, with or without clipping): what predict() prints, and the search for the
// largest micro-batch that fits. Pure simulation.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "harness/base/json_io.hpp"
#include "model/decoder/config.hpp"
#include "model/device/memory.hpp"
#include "model/device/node_links.hpp"
#include "model/device/profile.hpp"
#include "model/device/time_account.hpp"
#include "model/train/step_row.hpp"

namespace nb {

// What a card generates in a step of RL before it trains on it: every request's samples have one
// prompt. A pass of training has the samples of one request, padded to the longest.
struct DryRollout {
  std::int64_t requests = 1;
  std::int64_t samples = 1;  // of a request, generated together
  std::int64_t prompt_tokens = 1;
  // Lengths of answers, each equally frequent: sample i of the card's step has the i-th, in turn.
  // At the longest an answer is cut; shorter ones end with a token more, which is drawn, but not
  // trained on.
  std::vector<std::int64_t> answer_tokens = {1};

  std::int64_t limit() const;                              // the longest
  std::int64_t answer_of(std::int64_t sample) const;       // of the card's step, from 0
  std::int64_t row_tokens_of(std::int64_t request) const;  // that its pass is trained on
  std::int64_t row_tokens() const;                         // sum over all passes
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
struct PeakMemory {
  std::uint64_t allocated_bytes = 0;
  std::uint64_t reserved_bytes = 0;
  bool operator==(const PeakMemory&) const = default;
};
// Three peaks by one rule: `first` is read when the first step is over (the optimizers' state comes
// at its end, when the activations have gone), `steady` belongs to the measured step alone, for
// which the peaks are reset; peak_ is the largest since the start, which torch calls
// max_memory_allocated where nobody resets it.
struct DryStep {
  std::int64_t step_time_ns = 0;
  std::int64_t communication_time_ns = 0;
  std::int64_t generate_time_ns = 0;  // part of the step that RL's answers take
  std::uint64_t peak_allocated_bytes = 0;
  std::uint64_t peak_reserved_bytes = 0;
  PeakMemory first, steady;
  BytesByUse peak_by_use{};  // what the steady peak's allocated bytes hold
  TimeAccount account;       // of the measured step: its sums are step_time_ns
};

// The third step: state exists, the allocator's cache is warm. Throws OutOfMemory.
DryStep run_dry_step(const DryStepRequest& request, const DeviceProfile& profile);

// The measured step of the same run as Chrome trace JSON, with every micro-batch. Throws
// OutOfMemory.
Json trace_dry_step(const DryStepRequest& request, const DeviceProfile& profile);

// What the card's memory holds while the steady step launches its kernels, all micro-batches of it.
struct MemoryOverStep {
  std::vector<std::int64_t> time_ns;  // of the launch, from the step's start
  std::vector<BytesByUse> by_use;
  std::uint64_t capacity_bytes = 0;  // that a job may have
};
// Errors: more kernels than a trace holds.
Result<MemoryOverStep> memory_over_step(const DryStepRequest& request,
                                        const DeviceProfile& profile);

// Does a step with that batch fit in memory? Its time is not computed.
bool step_fits(const DryStepRequest& request, const DeviceProfile& profile);

// Largest device_batch_size <= request.device_batch_size whose step fits in memory; 0: not even one
// row. Accumulation beyond one micro-batch is taken as request.accumulation_steps > 1.
std::int64_t largest_fitting_batch(DryStepRequest request, const DeviceProfile& profile);

}  // namespace nb
