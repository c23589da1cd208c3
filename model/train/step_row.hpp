// What a training says of each of its steps, in all stages: the rows of steps.csv. Each stage fills
// the columns that it has (step_row.cpp: one table).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace nb {

// In the order in which they follow each other.
enum class TrainingStage { kBase, kMid, kSft, kDpo, kRl };
std::string_view name(TrainingStage stage);  // "base", "mid", "sft", "dpo", "rl"

// Row `step` describes the update number `step` (0 first) and the validation made before it. The
// last row (step == iterations) has a validation only.
struct StepRow {
  std::int64_t step = 0;
  std::optional<double> train_loss;  // nat: mean over the step's micro-batches
  std::optional<double> lr_multiplier;
  std::optional<double> grad_norm;      // before clipping
  std::optional<double> grad_scale;     // of a loss that is scaled; no column of other trainings
  std::optional<double> tokens;         // of the model's inputs in this step, padding included
  std::optional<double> reward;         // mean over the step's samples
  std::optional<double> reward_spread;  // mean over its groups of their standard deviation
  std::optional<double> equal_rewards;  // share of groups whose rewards are all equal
  std::optional<double> sample_tokens;  // mean length of the samples
  std::optional<double> margin;         // mean chosen − rejected reward of the step's pairs
  std::optional<double> pair_accuracy;  // share of its pairs with a margin above 0
  std::optional<double> chosen_reward, rejected_reward;  // β × log ratio to the first weights
  std::optional<double> kl;             // nat a token, to the model that the stage began with
  std::optional<double> clip_fraction;  // share of tokens whose gradient or ratio it limits
  std::optional<double> ratio_spread;   // largest − smallest probability ratio
  std::optional<double> sampler_age;    // updates since the samples' weights were the trained ones
  std::optional<double> step_time_ns;   // simulated
  std::optional<double> generate_time_ns;   // simulated; part of step_time_ns
  std::optional<double> throughput_tok_s;   // simulated
  std::optional<double> peak_memory_bytes;  // simulated, allocated, since the start
  std::optional<double> val_bpb;            // bit/byte
  std::optional<double> val_loss;           // nat, mean of the batches' means
  std::optional<double> val_accuracy;       // share of held-out questions answered right at first
  std::optional<double> val_pair_accuracy;  // of held-out pairs
  std::optional<double> val_margin;
  std::optional<double> val_pass_at_k;  // the same by any of eval_samples answers
  std::optional<double> batch_hash;     // of the ids that were trained on (BatchHash); of RL: asked
};
// Columns of a stage after "step"; values of a row in that order.
const std::vector<std::string>& step_columns(TrainingStage stage);
std::vector<std::optional<double>> step_values(const StepRow& row, TrainingStage stage);
std::vector<std::optional<double>*> step_members(StepRow& row, TrainingStage stage);

}  // namespace nb
