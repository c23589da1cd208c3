// What a BASE run is asked to do. One field list; nanochat's base_train.py gives the defaults.
// Not here: which device, which data (they are arguments of train()).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "harness/base/fields.hpp"
#include "harness/base/result.hpp"
#include "model/decoder/config.hpp"

namespace nb {

struct TrainSettings {
  std::int64_t depth = 20;
  std::optional<std::string> model = {};  // a name of decoder_presets(); absent: nanochat
  std::optional<bool> recompute = {};  // blocks again in backward, to save memory; changes no bit
  std::int64_t sequence_len = 2048;
  std::int64_t device_batch_size = 32;       // rows a card holds at once
  std::int64_t total_batch_tokens = 524288;  // tokens of one optimizer step, all cards together
  std::optional<std::int64_t> iterations;    // given: wins over the ratio
  double param_data_ratio = 20;              // tokens trained on per parameter
  double embedding_lr = 0.2;
  double unembedding_lr = 0.004;
  double matrix_lr = 0.02;
  double weight_decay = 0;                            // of AdamW
  std::optional<std::string> adamw_denominator = {};  // adamw_choice.hpp
  double grad_clip = 1.0;                             // global norm; 0: no clipping
  double warmup_ratio = 0;
  double warmdown_ratio = 0.2;
  double final_lr_frac = 0;
  std::int64_t eval_every = 250;  // steps; 0: only at the end
  std::int64_t eval_tokens = 10485760;
  std::int64_t sample_every = 2000;   // steps; 0: never
  std::int64_t checkpoint_every = 0;  // steps; 0: only at the end. Changes no result
  // Whose checkpoints stay beside the last one, ascending or not; 0: the initial weights. Changes
  // no byte of any checkpoint.
  std::vector<std::int64_t> keep_steps;
  std::uint64_t seed = 42;

  FieldList fields();
};

// How the tokens of one optimizer step fall into micro-batches.
struct BatchPlan {
  std::int64_t micro_batch_tokens = 0;  // device_batch_size × sequence_len, of one card
  std::int64_t accumulation_steps = 0;  // micro-batches of one card in one optimizer step
};
// total_batch_tokens must be a multiple of cards × device_batch_size × sequence_len; else bad_input
// with both numbers and the nearest valid ones.
Result<BatchPlan> plan_batch(const TrainSettings& settings, std::int64_t cards);
// bad_input where the steps in which rates rise and those in which they fall would overlap, or
// where a checkpoint is to be kept that there will not be.
Result<void> check_schedule(const TrainSettings& settings);
// The second of these, where `iterations` is known only once the model's size is.
Result<void> check_keep_steps(const TrainSettings& settings, std::int64_t iterations);
// The preset at that depth. bad_input: no such preset, or a depth that it cannot have.
Result<DecoderConfig> decoder_config(const TrainSettings& settings, std::int64_t vocab_size);
// settings.iterations, or floor(ratio × parameters / total_batch_tokens), at least 1.
std::int64_t planned_iterations(const TrainSettings& settings, const DecoderConfig& config);

}  // namespace nb
