// What MID, SFT, DPO and RL are asked to do. One field list each; nanochat's mid_train.py,
// chat_sft.py and chat_rl.py (3a5e0bc) give the defaults. Not here: which conversations, which
// device, which weights to start from (they are arguments).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "harness/base/fields.hpp"
#include "harness/base/result.hpp"
#include "model/decoder/lora.hpp"
#include "model/optim/schedules.hpp"
#include "model/train/advantages.hpp"
#include "model/train/packed_settings.hpp"

namespace nb {

// The rates of pretraining (gpt.py), times init_lr_frac at the start.
struct StageRates {
  double embedding_lr = 0.2;
  double unembedding_lr = 0.004;
  double matrix_lr = 0.02;
  double weight_decay = 0;
  double init_lr_frac = 1;
  std::optional<std::string> adamw_denominator = {};  // adamw_choice.hpp
  FieldList fields();
};

// Low-rank adapters that are trained in place of the weights (model/decoder/lora.hpp). The defaults
// are PEFT's, the rate is that of Twinkle's recipes.
struct AdapterSettings {
  LoraSettings lora = {.rank = 8, .alpha = 8, .targets = {"all-linear"}};
  double dropout = 0;
  double adapter_lr = 1e-4;  // AdamW; neither init_lr_frac nor the width changes it
  std::optional<std::int64_t>
      seed;  // of their first values and the dropout; absent: the training's
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
  std::optional<AdapterSettings> lora;  // absent: all weights are trained
  StageCheckpoints checkpoints;
  FieldList fields();
};

// The assistant's tokens alone, mean over them a micro-batch. One conversation a row, or packed.
struct SftSettings {
  std::int64_t device_batch_size = 4;          // rows a card holds at once
  std::int64_t target_examples_per_step = 32;  // of one optimizer step
  std::int64_t num_epochs = 1;
  std::optional<std::int64_t> iterations;  // given: wins over num_epochs
  StageRates rates = {.init_lr_frac = 0.02};
  std::int64_t eval_every = 100;         // steps; 0: only at the end
  std::int64_t eval_batches = 100;       // of device_batch_size conversations
  std::optional<PackedSettings> packed;  // given: it says batches, pass and validation
  std::optional<AdapterSettings> lora;   // absent: all weights are trained
  StageCheckpoints checkpoints;
  FieldList fields();
};

// Two answers a pair, the preferred one against the other and both against the weights that DPO
// began with. beta is trl's. The rate is half of SFT's: at a twentieth, trl's ratio, a d2 model's
// held-out margin was 0.001 after 50 steps on the microworld, at this one 0.007.
struct DpoSettings {
  std::int64_t device_batch_size = 4;          // pairs a card holds at once
  std::int64_t target_examples_per_step = 32;  // pairs of one optimizer step
  std::int64_t num_epochs = 1;
  std::optional<std::int64_t> iterations;  // given: wins over num_epochs
  double beta = 0.1;
  double label_smoothing = 0;
  StageRates rates = {.init_lr_frac = 0.01};
  std::int64_t eval_every = 100;        // steps; 0: only at the end
  std::int64_t eval_batches = 25;       // of device_batch_size pairs
  std::optional<AdapterSettings> lora;  // absent: all weights are trained
  StageCheckpoints checkpoints;
  FieldList fields();
};

// What the samples of a question are trained for. All but the first compare probabilities with
// those that drew the samples, and can hold on to the weights that RL began with; their sources are
// in model/tensor/policy_form.hpp and model/kernels/objectives.hpp. Means are of a training pass,
// as modelscope/twinkle's are.
enum class RlObjective {
  kPolicyGradient,  // Σ A log p / tokens: nanochat's chat_rl.py; no ratio, no clip, no reference
  kClipped,         // GRPO's clipped ratio, the mean of a sequence's tokens, then of sequences
  kGspo,            // one clipped ratio a sequence
  kSapo,            // a smooth gate in place of the clip
  kCispo,           // the ratio is a capped weight of log p, over all tokens
  kBnpo,            // as clipped, the mean over all tokens
  kDrGrpo,          // as clipped, the sum over sequences × max_new_tokens
};

// Questions are answered several times; answers that are right more often than the others of their
// group are made likelier.
struct RlSettings {
  static constexpr double kClip = 0.2, kGate = 1;  // Twinkle's
  std::int64_t device_batch_size = 8;              // samples of a training pass
  std::int64_t examples_per_step = 16;
  std::int64_t num_samples = 16;  // of each question
  std::int64_t num_epochs = 1;
  std::optional<std::int64_t> iterations;  // given: wins over num_epochs
  RlObjective objective = RlObjective::kPolicyGradient;
  AdvantageKind advantage = AdvantageKind::kMean;
  double clip_low = kClip, clip_high = kClip;
  // Of CISPO and BNPO, "equal" or "tokens": what a training pass counts in an update; absent:
  // equal. Twinkle counted passes alike until it weighed micro-batches (@ 057fc61,
  // src/twinkle/loss/grpo.py, micro_batch_scale).
  std::optional<std::string> pass_weights;
  std::optional<double> gate_up, gate_down;  // SAPO's temperatures; absent: kGate
  double kl_weight = 0;
  bool has_reference = false;  // the first weights stay on the device; needed for kl_weight
  std::int64_t updates_per_rollout = 1;
  std::int64_t max_new_tokens = 256;
  double temperature = 1;
  std::optional<std::int64_t> top_k = 50;  // null: all tokens
  bool shares_first_token = false;         // as nanochat until 2025-12-28
  std::int64_t rollout_batch_size = 8;     // samples generated together; changes no token
  StageRates rates = {.init_lr_frac = 0.05};
  std::int64_t eval_every = 60;         // steps; 0: only at the end
  std::int64_t eval_examples = 400;     // the first of the held-out questions
  std::int64_t eval_samples = 8;        // of each
  std::optional<AdapterSettings> lora;  // absent: all weights are trained
  StageCheckpoints checkpoints;
  std::uint64_t seed = 42;  // of the samples
  FieldList fields();
};

// Optimizer steps as the reference counts them (SFT: the last one trains nothing): `iterations`, or
// whole batches of all passes.
std::int64_t planned_steps(const SftSettings& settings, std::int64_t conversations);
std::int64_t planned_steps(const DpoSettings& settings, std::int64_t pairs);
std::int64_t planned_steps(const RlSettings& settings, std::int64_t questions);
inline constexpr std::int64_t kFewestSftSteps = 2;

// Accumulation steps of one card. bad_input with both numbers and the nearest valid ones, as
// plan_batch() says it for BASE.
Result<std::int64_t> accumulation_steps(const MidSettings& settings, std::int64_t sequence_len);
// Also what packed rows have no use for, and moments that adapters cannot have.
Result<std::int64_t> accumulation_steps(const SftSettings& settings, std::int64_t sequence_len);
Result<std::int64_t> accumulation_steps(const DpoSettings& settings);
// Passes of one question's samples; also what else must fit: a group of at least two, a reference
// where one is needed, a clip that is asked for only where it counts.
Result<std::int64_t> passes_per_example(const RlSettings& settings);

}  // namespace nb
