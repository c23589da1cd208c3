#include "results/compare/recipe_names.hpp"

#include <algorithm>

namespace nb {
namespace {

using enum Reading;

// The common words are ours where we have one.
constexpr RecipeName kOurNames[] = {
    {"iterations", "", kElsewhere},  // /effective
    {"param_data_ratio", "", kElsewhere},
    {"depth", "", kElsewhere},  // /effective/config
    {"model", "", kElsewhere},
    {"checkpoint", "", kOneSided},
    {"checkpoint_every", "", kOneSided},
    {"keep_steps", "", kOneSided},
    {"sample_every", "", kOneSided},
    {"recompute", "", kOneSided},           // changes no bit
    {"rollout_batch_size", "", kOneSided},  // changes no token
    {"seed", "", kOneSided},                // the record's, of another generator
    {"lora/seed", "", kOneSided},
    {"has_reference", "", kElsewhere},  // kl_weight
    {"target_examples_per_step", "examples_per_step", kAsIs},
    {"packed/sequence_len", "sequence_len", kAsIs},
    {"packed/total_batch_tokens", "total_batch_tokens", kAsIs},
    {"packed/eval_tokens", "eval_tokens", kAsIs},
    {"packed/warmdown", "warmdown_ratio", kAsIs},
    {"packed/keeps_optimizer", "keeps_optimizer", kAsIs},
};

// nanochat's words; those of a commit are understood at every later one.
constexpr RecipeName kNanochat[] = {
    {"run", "", kOneSided},
    {"model_tag", "", kOneSided},
    {"step", "", kOneSided},
    {"model_step", "", kOneSided},
    {"device_type", "", kOneSided},
    {"save_every", "", kOneSided},
    {"sample_every", "", kOneSided},
    {"resume_from_step", "", kOneSided},
    {"core_metric_every", "", kOneSided},
    {"core_metric_max_per_task", "", kOneSided},
    {"eval_metrics_every", "", kOneSided},
    {"eval_metrics_max_problems", "", kOneSided},
    {"chatcore_every", "", kOneSided},
    {"chatcore_max_cat", "", kOneSided},
    {"chatcore_max_sample", "", kOneSided},
    {"dry_run", "", kOneSided},
    {"dtype", "", kOneSided},  // number formats: the numerics of a record
    {"depth", "", kElsewhere},
    {"aspect_ratio", "", kElsewhere},
    {"head_dim", "", kElsewhere},
    {"window_pattern", "", kElsewhere},
    {"num_iterations", "", kElsewhere},
    {"max_iterations", "", kElsewhere},
    {"target_flops", "", kElsewhere},
    {"target_param_data_ratio", "", kElsewhere},
    {"param_data_ratio", "", kElsewhere},
    {"batch_lr_scale", "", kElsewhere},  // in the rates
    {"fp8", "fp8", kOffIfFalse},
    {"fp8_recipe", "", kElsewhere},
    {"max_seq_len", "sequence_len", kAsIs},
    {"device_batch_size", "device_batch_size", kAsIs},
    {"total_batch_size", "total_batch_tokens", kNoneBelowZero},
    {"embedding_lr", "embedding_lr", kTimesBatchScale},
    {"unembedding_lr", "unembedding_lr", kTimesBatchScale},
    {"matrix_lr", "matrix_lr", kTimesBatchScale},
    {"scalar_lr", "scalar_lr", kTimesBatchScale},
    {"weight_decay", "weight_decay", kAsIs},
    {"weight_decay_scaled", "muon_weight_decay", kAsIs},
    {"grad_clip", "grad_clip", kAsIs},
    {"eval_every", "eval_every", kNoneBelowZero},
    {"eval_steps", "eval_batches", kAsIs},
    {"load_optimizer", "keeps_optimizer", kAsIs},
    {"source", "source", kAsIs},
    {"num_epochs", "num_epochs", kAsIs},
    {"target_examples_per_step", "examples_per_step", kAsIs},
    {"mmlu_epochs", "mmlu_epochs", kAsIs},
    {"gsm8k_epochs", "gsm8k_epochs", kAsIs},
};

// Twinkle's arguments. Its rate is one for all weights, so it is none of ours but an adapter's.
constexpr RecipeName kTwinkle[] = {
    {"infra", "", kOneSided},  // groups: whatever stands below them
    {"server", "", kOneSided},
    {"checkpoint", "", kOneSided},
    {"output_dir", "", kOneSided},
    {"save_steps", "", kOneSided},
    {"save_total_limit", "", kOneSided},
    {"log_interval", "", kOneSided},
    {"adapter_name", "", kOneSided},
    {"lora_path", "", kOneSided},
    {"resume_from_checkpoint", "", kOneSided},
    {"seed", "", kOneSided},
    {"max_steps", "", kElsewhere},
    {"use_lora", "", kElsewhere},  // its rank
    {"num_train_epochs", "num_epochs", kAsIs},
    {"micro_batch_size", "device_batch_size", kAsIs},
    {"lora_r", "lora/rank", kAsIs},
    {"lora_alpha", "lora/alpha", kAsIs},
    {"lora_dropout", "lora/dropout", kAsIs},
    {"lora_target_modules", "lora/targets", kAsIs},
    {"max_grad_norm", "grad_clip", kAsIs},
    {"weight_decay", "weight_decay", kAsIs},
    {"eval_interval", "eval_every", kAsIs},
    {"num_generations", "num_samples", kAsIs},
    {"max_tokens", "max_new_tokens", kAsIs},
    {"temperature", "temperature", kAsIs},
    {"top_k", "top_k", kNoneBelowZero},
    {"epsilon", "clip_low", kAsIs},
    {"epsilon_high", "clip_high", kAsIs},
    {"tau_pos", "gate_up", kAsIs},
    {"tau_neg", "gate_down", kAsIs},
    {"loss_cls", "objective", kAsIs},
    {"advantage_scale", "advantage", kAsIs},
};

constexpr RecipeNames kTables[] = {
    {Vocabulary::kOurs, "model/train: settings.cpp, chat_settings.cpp, packed_settings.cpp",
     kOurNames},
    {Vocabulary::kNanochat,
     "karpathy/nanochat @ 3a5e0bc and @ 92d63d4: scripts/base_train.py, mid_train.py, chat_sft.py, "
     "chat_rl.py",
     kNanochat},
    {Vocabulary::kTwinkle,
     "modelscope/twinkle @ 1a1d884: src/twinkle/cli/cli.py, loss/grpo.py, advantage/grpo.py",
     kTwinkle},
};

// advantage_scale "batch" divides by the deviation of the whole batch, which we have not.
constexpr RecipeValue kValues[] = {
    {"objective", "GRPOLoss", "clipped"}, {"objective", "GSPOLoss", "gspo"},
    {"objective", "SAPOLoss", "sapo"},    {"objective", "CISPOLoss", "cispo"},
    {"objective", "BNPOLoss", "bnpo"},    {"objective", "DRGRPOLoss", "dr_grpo"},
    {"advantage", "group", "mean_std"},   {"advantage", "none", "mean"},
};

}  // namespace

std::span<const RecipeNames> recipe_names() { return kTables; }

const RecipeName* find_recipe_name(Vocabulary vocabulary, std::string_view theirs) {
  for (const RecipeNames& table : kTables) {
    if (table.vocabulary != vocabulary) continue;
    const auto at = std::ranges::find(table.names, theirs, &RecipeName::theirs);
    if (at != table.names.end()) return &*at;
  }
  return nullptr;
}

std::span<const RecipeValue> recipe_values() { return kValues; }

}  // namespace nb
