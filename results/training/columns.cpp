#include "results/training/columns.hpp"

#include <algorithm>
#include <array>

#include "harness/base/ascii.hpp"

namespace nb {
namespace {

struct Alias {
  std::string_view source;  // joined by "_", lower case
  std::string_view ours;
  double factor = 1;
};

// HF: huggingface/transformers @ 55093b758: src/transformers/trainer.py (logs),
// trainer_callback.py. TRL: huggingface/trl: trl/trainer/sft_trainer.py. nanochat:
// karpathy/nanochat @ 92d63d4: scripts/base_train.py, chat_sft.py, chat_rl.py (wandb_run.log).
// Megatron: NVIDIA/Megatron-LM @ 86df799dc: megatron/training/training.py (training_log).
// torchtitan: pytorch/torchtitan @ 00fbaafa6: torchtitan/components/metrics.py.
constexpr auto kAliases = std::to_array<Alias>({
    {"loss", column::kTrainLoss},
    {"train_loss", column::kTrainLoss},
    {"training_loss", column::kTrainLoss},
    {"lm_loss", column::kTrainLoss},
    {"loss_metrics_global_avg_loss", column::kTrainLoss},
    {"eval_loss", column::kValLoss},
    {"val_loss", column::kValLoss},
    {"valid_loss", column::kValLoss},
    {"validation_loss", column::kValLoss},
    {"lm_loss_validation", column::kValLoss},
    {"validation_metrics_loss", column::kValLoss},
    {"val_bpb", column::kValBpb},
    {"validation_bpb", column::kValBpb},
    {"learning_rate", column::kLearningRate},
    {"train_learning_rate", column::kLearningRate},
    {"train_lr", column::kLearningRate},
    {"lr", column::kLearningRate},
    {"lrm", column::kLrMultiplier},
    {"train_lrm", column::kLrMultiplier},
    {"lr_multiplier", column::kLrMultiplier},
    {"grad_norm", column::kGradNorm},
    {"train_grad_norm", column::kGradNorm},
    {"loss_scale", "loss_scale"},
    {"train_dt", column::kStepTime, 1e9},
    {"iteration_time", column::kStepTime, 1e9},
    {"time_metrics_end_to_end(s)", column::kStepTime, 1e9},
    {"step_time_ns", column::kStepTime},
    {"train_tok_per_sec", column::kThroughput},
    {"throughput_tok_s", column::kThroughput},
    {"throughput(tps)", column::kCardThroughput},
    {"throughput_tok_s_card", column::kCardThroughput},
    {"tflops", column::kCardFlops, 1e12},
    {"flop_s_card", column::kCardFlops},
    {"train_mfu", column::kMfu, .01},  // nanochat logs percent
    {"mfu(%)", column::kMfu, .01},
    {"mfu", column::kMfu},
    {"memory_max_reserved(gib)", column::kMemory, kGiB},
    {"mem_max_allocated_bytes", column::kMemory},
    {"peak_memory_bytes", column::kMemory},
    {"ntokens_seen", column::kTokens},
    {"num_input_tokens_seen", column::kTokens},
    {"train_num_input_tokens_seen", column::kTokens},
    {"num_tokens", column::kTokens},
    {"train_num_tokens", column::kTokens},
    {"tokens", column::kTokens},
    {"samples", column::kSamples},
    {"batch_samples", "batch_samples"},
    {"batch_tokens", "batch_tokens"},
    {"epoch", "epoch"},
    {"train_epoch", "epoch"},
    {"reward", column::kReward},
    {"train_reward", column::kReward},
    {"rewards_accuracies", "reward_accuracy"},
    {"train_rewards_accuracies", "reward_accuracy"},
    {"reward_accuracy", "reward_accuracy"},
    {"mean_token_accuracy", "token_accuracy"},
    {"train_mean_token_accuracy", "token_accuracy"},
    {"token_accuracy", "token_accuracy"},
    {"eval_mean_token_accuracy", "val_token_accuracy"},
    {"val_token_accuracy", "val_token_accuracy"},
    {"eval_accuracy", "val_accuracy"},
    {"val_accuracy", "val_accuracy"},
    {"core_metric", column::kCore},
    {"core", column::kCore},
    {"chatcore", "chatcore"},
    {"chatcore_metric", "chatcore"},
    {"eval_samples_per_second", "eval_samples_s"},
    {"train_samples_per_second", "samples_s"},
    {"train_steps_per_second", "steps_s"},
});

constexpr auto kSteps = std::to_array<std::string_view>(
    {"step", "steps", "_step", "global_step", "train_global_step", "trainer_global_step",
     "iteration", "iterations", "iter", "current_steps"});

std::string joined(std::string_view name) {
  std::string text(name);
  for (char& c : text) {
    c = lower_case(c);
    if (c == '/' || c == ' ' || c == '-') c = '_';
  }
  return text;
}

}  // namespace

SourceColumn source_column(std::string_view name) {
  const auto found = std::ranges::find(kAliases, joined(name), &Alias::source);
  if (found == kAliases.end()) return {std::string(name), 1};
  return {std::string(found->ours), found->factor};
}

bool is_step_name(std::string_view name) {
  return std::ranges::find(kSteps, joined(name)) != kSteps.end();
}

}  // namespace nb
