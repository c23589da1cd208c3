// Runs a training stage on one device: updates, validation, samples, rows, checkpoints, resume.
// What a stage does in an update is its task's affair (stage_task.hpp). Not here: where results are
// stored, evaluations, data files. What it returns depends on settings, data and device profile
// only: not on threads, kills or resumes.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "harness/base/result.hpp"
#include "model/decoder/config.hpp"
#include "model/train/stage_task.hpp"
#include "model/train/step_row.hpp"

namespace nb {

class Device;
class Disturbance;
class Tokenizer;

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
  // A sentence for the user: a file that could not be used, and what is done instead.
  std::function<void(const std::string&)> on_damage;
  std::function<void(std::int64_t step)> on_checkpoint;  // after it is on disk
  // Records device.host_profile() over the steps: not over the first, which warms up, unless there
  // is no other; not over validations, samples and checkpoints.
  bool profiles_host = false;
  const StageObserver* observer = nullptr;  // outlives the training; not of steps before a resume
  Disturbance* disturbance = nullptr;       // outlives the training; of several cards only
};

struct TrainResult {
  TrainingStage stage = TrainingStage::kBase;
  DecoderConfig config;
  AdamWDenominator adamw_denominator = AdamWDenominator::kScaledStep;  // that it trained with
  std::int64_t iterations = 0;
  std::int64_t tokens = 0;  // of the model's inputs in training
  std::int64_t param_count = 0;
  std::int64_t adapter_param_count = 0;  // those that are trained, where there are some
  std::int64_t flops_per_token = 0;      // of what is trained: all weights, or adapters
  double final_loss = 0;                 // nat, last step
  double smoothed_loss = 0;  // nat, exponential mean (0.9, debiased) as nanochat logs it
  StepRow last_validation;   // the values that the stage's validation fills
  std::optional<double> min_val_bpb;
  double step_time_ns = 0;      // simulated, median over steps
  double throughput_tok_s = 0;  // simulated, median over steps
  double mfu = 0;               // simulated, of the profile's peak for the policy's matmul inputs
  double train_time_ns = 0;     // simulated, sum of the steps without validation and samples
  // Parameters in which the replica, if there is one, has other values at the end.
  std::optional<std::int64_t> replica_mismatch;
  std::optional<std::int64_t> replica_mismatch_step;  // the first, from 1, after which any had
  // By the first of several cards in all steps, by kind of collective ("all_gather").
  std::map<std::string, double> sent_bytes;
  // Of the stages of a pipeline, by rank; and the mean of a step's bubble_of(). Empty, none: no
  // pipeline.
  std::vector<double> sent_bytes_of_ranks;
  std::vector<std::uint64_t> peaks_of_ranks;  // allocated bytes
  std::optional<double> bubble;
  std::uint64_t peak_allocated_bytes = 0;
  std::uint64_t peak_reserved_bytes = 0;
  std::vector<StepRow> steps;
  std::vector<SampleText> samples;
  std::filesystem::path checkpoint;    // the last one
  std::int64_t resumed_from_step = 0;  // 0: from the start. About this process, not about the run
};

// What the loop does in all stages; 0: never, or only at the end where that is said.
struct TrainLoop {
  std::int64_t eval_every = 0;        // steps; also after the last update
  std::int64_t sample_every = 0;      // steps; also after the last update, unless 0
  std::int64_t checkpoint_every = 0;  // steps; also after the last update
  std::vector<std::int64_t> keep_steps;
};

// `folder` gets checkpoints/step_000123.safetensors; the two newest and those of
// keep_steps stay. Resumes from the newest valid checkpoint there before which none of keep_steps
// is missing; one that is damaged, of another run or of an older version is passed over with a
// sentence (on_damage). A full disk is run_error and leaves the older checkpoint. start() gives the
// model its first weights, if nothing is resumed.
Result<TrainResult> run_training(StageTask& task, TrainedModel& model, const Tokenizer& tokenizer,
                                 const Json& identity, const TrainLoop& loop,
                                 const std::function<Result<void>()>& start,
                                 const std::filesystem::path& folder, const TrainHooks& hooks);

}  // namespace nb
