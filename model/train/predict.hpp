// What a training step would take on a machine nobody has at hand: a dry run of depth, cards, nodes
// and device batch on a profile, in one of nanochat's stages. All figures are simulated.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "harness/base/result.hpp"
#include "model/device/node_links.hpp"
#include "model/train/dry_step.hpp"
#include "model/train/predict_settings.hpp"

namespace nb {

struct DeviceProfile;

struct Prediction {
  bool fits = false;
  bool is_borderline =
      false;  // with kBorderlineShare (fit_batch.hpp) more or less memory: otherwise
  std::string out_of_memory;  // the device's words when it does not fit
  std::string note;  // what was answered in place of what was asked, and why; empty: nothing
  std::int64_t nodes = 1;
  std::int64_t device_batch_size = 0;  // the given one, or the one that was chosen
  // The smallest batch that divides, is larger than the chosen one and does not fit; 0: none, or
  // the batch was given.
  std::int64_t too_large_batch_size = 0;
  // Filled when a given batch does not fit. 0: not even one row does.
  std::int64_t largest_device_batch_size = 0;    // that fits
  std::int64_t largest_dividing_batch_size = 0;  // of those, the largest that divides the step
  std::int64_t accumulation_steps = 0;
  double step_time_ns = 0;  // steady step: all micro-batches, gradient exchange, optimizers
  double communication_time_ns = 0;  // part of it that waits for other cards
  double generate_time_ns = 0;       // part of it that RL's answers take
  double throughput_tok_s = 0;       // all cards
  double mfu = 0;
  std::uint64_t peak_allocated_bytes = 0;  // of one card, since the start
  std::uint64_t peak_reserved_bytes = 0;
  PeakMemory first_peak, steady_peak;  // of the first step, of a steady one (dry_step.hpp)
  BytesByUse peak_by_use{};            // what the steady peak holds
  TimeAccount account;                 // what step_time_ns went to
  std::int64_t param_count = 0;
  std::int64_t flops_per_token = 0;
};

// between_nodes: of the profile (parse_node_links). bad_input: batch arithmetic, a depth whose
// heads do not divide, cards or nodes that the profile does not model. Not fitting is an answer,
// not an error.
Result<Prediction> predict(const PredictSettings& settings, const DeviceProfile& profile,
                           const std::optional<NodeLinkProfile>& between_nodes = {});

// The same step with that many rows in a micro-batch, to be run or traced as it is (dry_step.hpp).
Result<DryStepRequest> dry_step_request(const PredictSettings& settings,
                                        const DeviceProfile& profile,
                                        const std::optional<NodeLinkProfile>& between_nodes,
                                        std::int64_t device_batch_size);

}  // namespace nb
