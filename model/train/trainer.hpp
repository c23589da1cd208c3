// Trains the BASE stage on one device: micro-batches, clipping, AdamW and Muon, validation,
// samples, checkpoints, resume. nanochat's base_train.py. Not here: where results are stored,
// evaluations, data files. What it returns depends on settings, data and device profile only: not
// on threads, kills or resumes.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "harness/base/result.hpp"
#include "model/decoder/config.hpp"
#include "model/train/settings.hpp"

namespace nb {

class Device;
class Tokenizer;
class TokenLoader;

// Row `step` describes the update number `step` (0 first) and the validation made before it. The
// last row (step == iterations) has a validation only.
struct StepRow {
  std::int64_t step = 0;
  std::optional<double> train_loss;  // nat: mean over the step's micro-batches
  std::optional<double> lr_multiplier;
  std::optional<double> grad_norm;          // before clipping
  std::optional<double> step_time_ns;       // simulated
  std::optional<double> throughput_tok_s;   // simulated
  std::optional<double> peak_memory_bytes;  // simulated, allocated, since the start
  std::optional<double> val_bpb;            // bit/byte
};
// Columns after "step" in the order of StepRow; values of a row in that order.
const std::vector<std::string>& step_columns();
std::vector<std::optional<double>> step_values(const StepRow& row);
std::vector<std::optional<double>*> step_members(StepRow& row);  // in the same order

struct SampleText {
  std::int64_t step = 0;
  std::string prompt;
  std::string text;  // prompt and greedy continuation
};

// All are optional. Rows and samples of before a resume are told again, so that a listener always
// hears the whole run in order.
struct TrainHooks {
  std::function<void(const StepRow&)> on_step;
  std::function<void(const SampleText&)> on_sample;
  std::function<void(const std::string&)> on_note;  // one line for the log ("resumed at step 40")
  std::function<void(std::int64_t step)> on_checkpoint;  // after it is on disk
  // Records device.host_profile() over the steps: not over the first, which warms up, unless there
  // is no other; not over validations, samples and checkpoints.
  bool profiles_host = false;
};

struct TrainData {
  TokenLoader& train;
  TokenLoader& validation;     // rewound before each validation
  const Tokenizer& tokenizer;  // vocabulary size, token bytes, samples
};

struct TrainResult {
  DecoderConfig config;
  std::int64_t iterations = 0;
  std::int64_t tokens = 0;  // trained on
  std::int64_t param_count = 0;
  std::int64_t flops_per_token = 0;
  double final_loss = 0;     // nat, last step
  double smoothed_loss = 0;  // nat, exponential mean (0.9, debiased) as nanochat logs it
  double val_bpb = 0;        // after the last step
  double min_val_bpb = 0;
  double step_time_ns = 0;      // simulated, median over steps
  double throughput_tok_s = 0;  // simulated, from the median step
  double mfu = 0;               // simulated, of the profile's peak for the policy's matmul inputs
  double train_time_ns = 0;     // simulated, sum of the steps without validation and samples
  std::uint64_t peak_allocated_bytes = 0;
  std::uint64_t peak_reserved_bytes = 0;
  std::vector<StepRow> steps;
  std::vector<SampleText> samples;
  std::filesystem::path checkpoint;    // the last one
  std::int64_t resumed_from_step = 0;  // 0: from the start. About this process, not about the run
};

// `folder` gets checkpoints/step_000123.safetensors; the two newest and those of
// keep_steps stay. Resumes from the
// newest valid checkpoint there; a damaged one is passed over with a note, one of other settings is
// bad_input. A full disk is run_error and leaves the older checkpoint. Simulated out of memory:
// run_error in the device's words with the largest device_batch_size that fits.
Result<TrainResult> train(const TrainSettings& settings, Device& device, const TrainData& data,
                          const std::filesystem::path& folder, const TrainHooks& hooks = {});

}  // namespace nb
