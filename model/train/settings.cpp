#include "model/train/settings.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "model/decoder/presets.hpp"
#include "model/train/adamw_choice.hpp"

namespace nb {

FieldList TrainSettings::fields() {
  return {
      {"depth", "blocks; width is 64 × depth", &depth, {.min = 1, .max = 128}},
      {"model",
       "the decoder's preset (npubench list models); absent: nanochat",
       &model,
       {.omits_absent = true}},
      {"recompute",
       "recompute blocks in the backward pass (activation checkpointing): less memory, more time",
       &recompute,
       {.omits_absent = true}},
      {"sequence_len", "tokens per row", &sequence_len, {.unit = "token", .min = 2}},
      {"device_batch_size", "rows per card and micro-batch", &device_batch_size, {.min = 1}},
      {"total_batch_tokens",
       "tokens of one optimizer step over all cards; a multiple of cards × "
       "device_batch_size × sequence_len",
       &total_batch_tokens,
       {.unit = "token", .min = 1}},
      {"iterations", "optimizer steps; absent: from param_data_ratio", &iterations, {.min = 1}},
      {"param_data_ratio", "tokens trained on per parameter", &param_data_ratio, {.min = 0}},
      {"embedding_lr", "AdamW rate of wte at width 768", &embedding_lr, {.min = 0}},
      {"unembedding_lr", "AdamW rate of lm_head at width 768", &unembedding_lr, {.min = 0}},
      {"matrix_lr", "Muon rate of the blocks' matrices", &matrix_lr, {.min = 0}},
      {"weight_decay", "AdamW's decoupled weight decay", &weight_decay, {.min = 0}},
      adamw_field(&adamw_denominator),
      {"grad_clip", "limit of the global gradient norm; 0: none", &grad_clip, {.min = 0}},
      {"warmup_ratio", "share of steps with rising rates", &warmup_ratio, {.min = 0, .max = 1}},
      {"warmdown_ratio",
       "share of steps with falling rates",
       &warmdown_ratio,
       {.min = 0, .max = 1}},
      {"final_lr_frac", "rate multiplier at the end", &final_lr_frac, {.min = 0, .max = 1}},
      {"eval_every",
       "steps between validations; 0: only at the end",
       &eval_every,
       {.unit = "step", .min = 0}},
      {"eval_tokens",
       "tokens of one validation, rounded down to whole batches",
       &eval_tokens,
       {.unit = "token", .min = 1}},
      {"sample_every",
       "steps between sampled texts; 0: never",
       &sample_every,
       {.unit = "step", .min = 0}},
      {"checkpoint_every",
       "steps between checkpoints to resume from; 0: only at the end",
       &checkpoint_every,
       {.unit = "step", .min = 0, .hashed = false}},
      {"keep_steps",
       "steps whose checkpoints are kept beside the last one; 0: the initial weights",
       &keep_steps,
       {.unit = "step", .min = 0}},
      {"seed", "of the initial weights", &seed}};
}

Result<BatchPlan> plan_batch(const TrainSettings& settings, std::int64_t cards) {
  if (cards < 1) return bad_input(fmt::format("cards is {}; at least 1 is needed", cards));
  std::int64_t micro = 0, world = 0;
  if (__builtin_mul_overflow(settings.device_batch_size, settings.sequence_len, &micro) ||
      __builtin_mul_overflow(micro, cards, &world))
    return bad_input(fmt::format(
        "{} card{} × device_batch_size {} × sequence_len {} is too large a number of tokens", cards,
        cards == 1 ? "" : "s", settings.device_batch_size, settings.sequence_len));
  const std::int64_t total = settings.total_batch_tokens;
  if (world < 1) return bad_input("device_batch_size and sequence_len must be at least 1");
  if (total < world || total % world != 0) {
    const std::int64_t below = total / world * world;
    std::int64_t above = 0;
    std::string nearest = fmt::format("{}", below);
    if (!__builtin_add_overflow(below, world, &above))
      nearest = below > 0 ? fmt::format("{} or {}", below, above) : fmt::format("{}", above);
    return bad_input(
        fmt::format("total_batch_tokens {} is not a multiple of {} = {} card{} × device_batch_size "
                    "{} × sequence_len {}; "
                    "the nearest valid total_batch_tokens: {}",
                    total, world, cards, cards == 1 ? "" : "s", settings.device_batch_size,
                    settings.sequence_len, nearest));
  }
  return BatchPlan{.micro_batch_tokens = micro, .accumulation_steps = total / world};
}

Result<void> check_keep_steps(const TrainSettings& settings, std::int64_t iterations) {
  for (const std::int64_t step : settings.keep_steps)
    if (step < 0 || step > iterations)
      return bad_input(
          fmt::format("keep_steps: {}: the training has the steps 0 to {}; give some of these",
                      step, iterations));
  return {};
}

Result<void> check_schedule(const TrainSettings& settings) {
  constexpr double kRounding = 1e-9;  // 0.7 + 0.3 is 1
  if (settings.iterations) NB_TRY_VOID(check_keep_steps(settings, *settings.iterations));
  if (settings.warmup_ratio + settings.warmdown_ratio <= 1 + kRounding) return {};
  return bad_input(
      fmt::format("warmup_ratio {} and warmdown_ratio {} add up to more than all steps; lower one "
                  "so that their sum is at most 1",
                  settings.warmup_ratio, settings.warmdown_ratio));
}

Result<DecoderConfig> decoder_config(const TrainSettings& settings, std::int64_t vocab_size) {
  NB_TRY(DecoderConfig config,
         preset_config(settings.model.value_or(std::string(kDefaultPreset)), settings.depth,
                       vocab_size, settings.sequence_len),
         "model");
  NB_TRY_VOID(check_config(config, fmt::format("depth {}", settings.depth)));
  return config;
}

std::int64_t planned_iterations(const TrainSettings& settings, const DecoderConfig& config) {
  if (settings.iterations) return *settings.iterations;
  const double tokens = settings.param_data_ratio * static_cast<double>(param_count(config));
  const double steps = std::floor(tokens / static_cast<double>(settings.total_batch_tokens));
  return std::max<std::int64_t>(1, static_cast<std::int64_t>(steps));
}

}  // namespace nb
