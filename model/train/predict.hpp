// What a training step would take on a machine nobody has at hand: a dry run (design.md §5.4) of
// depth, cards and device batch on a profile. All figures are simulated.
#pragma once

#include <cstdint>
#include <string>

#include "harness/base/fields.hpp"
#include "harness/base/result.hpp"

namespace nb {

struct DeviceProfile;

struct PredictSettings {
  std::int64_t depth = 20;
  std::int64_t vocab_size = 65536;
  std::int64_t sequence_len = 2048;
  std::int64_t cards = 8;
  std::int64_t device_batch_size = 32;
  std::int64_t total_batch_tokens = 524288;

  FieldList fields();
};

struct Prediction {
  bool fits = false;
  std::string out_of_memory;  // the device's words when it does not fit
  std::int64_t largest_device_batch_size =
      0;  // that fits; filled when the asked one does not. 0: not even one row
  std::int64_t largest_dividing_batch_size =
      0;  // of those, the largest that divides total_batch_tokens
  std::int64_t accumulation_steps = 0;
  double step_time_ns = 0;  // steady step: all micro-batches, gradient exchange, optimizers
  double communication_time_ns = 0;  // part of it that waits for other cards
  double throughput_tok_s = 0;       // all cards
  double mfu = 0;
  std::uint64_t peak_allocated_bytes = 0;  // of one card
  std::uint64_t peak_reserved_bytes = 0;
  std::int64_t param_count = 0;
  std::int64_t flops_per_token = 0;
};

// bad_input: batch arithmetic, a depth whose heads do not divide. Not fitting is an answer, not an
// error.
Result<Prediction> predict(const PredictSettings& settings, const DeviceProfile& profile);

}  // namespace nb
