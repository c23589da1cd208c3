// What a training step would take on a machine nobody has at hand: a dry run of depth, cards, nodes
// and device batch on a profile, in one of nanochat's stages. All figures are simulated.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "harness/base/fields.hpp"
#include "harness/base/result.hpp"
#include "model/device/node_links.hpp"
#include "model/train/dry_step.hpp"
#include "model/train/step_row.hpp"

namespace nb {

struct DeviceProfile;

struct PredictSettings {
  std::int64_t depth = 20;
  std::optional<std::string> model = {};  // of decoder_presets(); absent: nanochat
  std::optional<bool> recompute = {};
  std::int64_t vocab_size = 65536;
  std::int64_t sequence_len = 2048;
  std::int64_t cards = 8;                              // on all nodes together
  std::optional<std::int64_t> nodes = {};              // absent: as few as hold the cards
  std::optional<std::int64_t> device_batch_size = {};  // absent: the largest that fits and divides
  std::int64_t total_batch_tokens = 524288;            // BASE, MID
  TrainingStage stage = TrainingStage::kBase;          // not DPO
  std::optional<std::int64_t> steps = {};              // of the whole stage: its hours and tokens
  std::optional<std::int64_t> examples_per_step = {};  // SFT, RL: over all cards
  // What is assumed of the data: every row, prompt and answer has this length.
  std::optional<std::int64_t> row_tokens = {};                         // SFT: with its padding
  std::optional<std::int64_t> prompt_tokens = {}, answer_tokens = {};  // RL
  std::optional<std::int64_t> num_samples = {};                        // RL: of each example

  std::int64_t tokens_per_step() const;  // trained on, padding included
  FieldList fields();
};

struct Prediction {
  bool fits = false;
  std::string out_of_memory;  // the device's words when it does not fit
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
Result<void> check_prediction(const PredictSettings& settings);  // what needs no profile
Result<Prediction> predict(const PredictSettings& settings, const DeviceProfile& profile,
                           const std::optional<NodeLinkProfile>& between_nodes = {});

}  // namespace nb
