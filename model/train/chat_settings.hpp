// What MID, SFT and RL are asked to do. One field list each; nanochat's mid_train.py, chat_sft.py
// and chat_rl.py (3a5e0bc) give the defaults. Not here: which conversations, which device, which
// weights to start from (they are arguments).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "harness/base/fields.hpp"
#include "harness/base/result.hpp"
#include "model/optim/schedules.hpp"

namespace nb {

// The rates of pretraining (gpt.py), times init_lr_frac at the start.
struct StageRates {
  double embedding_lr = 0.2;
  double unembedding_lr = 0.004;
  double matrix_lr = 0.02;
  double weight_decay = 0;
  double init_lr_frac = 1;
  FieldList fields();
};

struct StageCheckpoints {
  std::int64_t checkpoint_every = 0;  // steps; 0: only at the end. Changes no result
  std::vector<std::int64_t> keep_steps;
  FieldList fields();
};

// All tokens of the conversations as one stream, one pass.
struct MidSettings {
  std::optional<std::int64_t> sequence_len;  // absent: the model's
  std::int64_t device_batch_size = 32;       // rows a card holds at once
  std::int64_t total_batch_tokens = 524288;  // of one optimizer step
  ProgressRule lr_schedule = ProgressRule::kConstantThenLinear;
  StageRates rates;
  std::int64_t eval_every = 150;  // steps; 0: only at the end
  std::int64_t eval_tokens = 10485760;
  StageCheckpoints checkpoints;
  FieldList fields();
};

// One conversation a row, the assistant's tokens alone, mean over them a micro-batch.
struct SftSettings {
  std::int64_t device_batch_size = 4;          // rows a card holds at once
  std::int64_t target_examples_per_step = 32;  // of one optimizer step
  std::int64_t num_epochs = 1;
  std::optional<std::int64_t> iterations;  // given: wins over num_epochs
  StageRates rates = {.init_lr_frac = 0.02};
  std::int64_t eval_every = 100;    // steps; 0: only at the end
  std::int64_t eval_batches = 100;  // of device_batch_size conversations
  StageCheckpoints checkpoints;
  FieldList fields();
};

// Accumulation steps of one card. bad_input with both numbers and the nearest valid ones, as
// plan_batch() says it for BASE.
Result<std::int64_t> accumulation_steps(const MidSettings& settings, std::int64_t sequence_len);
Result<std::int64_t> accumulation_steps(const SftSettings& settings);

}  // namespace nb
