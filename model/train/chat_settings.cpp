#include "model/train/chat_settings.hpp"

#include <fmt/core.h>

#include <iterator>

namespace nb {
namespace {

void append(FieldList& list, FieldList more) {
  list.insert(list.end(), std::make_move_iterator(more.begin()),
              std::make_move_iterator(more.end()));
}

Field batch_field(std::int64_t* rows) {
  return {"device_batch_size", "rows per card and micro-batch", rows, {.min = 1}};
}
Field eval_every_field(std::int64_t* steps) {
  return {"eval_every",
          "steps between validations; 0: only at the end",
          steps,
          {.unit = "step", .min = 0}};
}

// "4 or 8": the valid numbers around `total`, multiples of `unit`.
std::string nearest_multiples(std::int64_t total, std::int64_t unit) {
  const std::int64_t below = total / unit * unit;
  return below > 0 ? fmt::format("{} or {}", below, below + unit) : fmt::format("{}", unit);
}

}  // namespace

FieldList StageRates::fields() {
  return {{"embedding_lr", "AdamW rate of wte at width 768", &embedding_lr, {.min = 0}},
          {"unembedding_lr", "AdamW rate of lm_head at width 768", &unembedding_lr, {.min = 0}},
          {"matrix_lr", "Muon rate of the blocks' matrices", &matrix_lr, {.min = 0}},
          {"weight_decay", "AdamW's decoupled weight decay", &weight_decay, {.min = 0}},
          {"init_lr_frac", "all rates times this at the start", &init_lr_frac, {.min = 0}}};
}

FieldList StageCheckpoints::fields() {
  return {{"checkpoint_every",
           "steps between checkpoints to resume from; 0: only at the end",
           &checkpoint_every,
           {.unit = "step", .min = 0, .hashed = false}},
          {"keep_steps",
           "steps whose checkpoints are kept beside the last one; 0: the weights it began with",
           &keep_steps,
           {.unit = "step", .min = 0}}};
}

FieldList MidSettings::fields() {
  FieldList list = {
      {"sequence_len",
       "tokens per row; absent: the model's",
       &sequence_len,
       {.unit = "token", .min = 2}},
      batch_field(&device_batch_size),
      {"total_batch_tokens",
       "tokens of one optimizer step; a multiple of device_batch_size × sequence_len",
       &total_batch_tokens,
       {.unit = "token", .min = 1}},
      {"lr_schedule",
       "rate by the share of the conversations seen: constant up to 0.8, then linear to 0; or "
       "rising, as nanochat had it until 2025-10-15",
       enumerated(&lr_schedule, {"constant_then_linear", "rising"})}};
  append(list, rates.fields());
  list.push_back(eval_every_field(&eval_every));
  list.push_back({"eval_tokens",
                  "tokens of one validation, rounded down to whole batches",
                  &eval_tokens,
                  {.unit = "token", .min = 1}});
  append(list, checkpoints.fields());
  return list;
}

FieldList SftSettings::fields() {
  FieldList list = {batch_field(&device_batch_size),
                    {"target_examples_per_step",
                     "conversations of one optimizer step; a multiple of device_batch_size",
                     &target_examples_per_step,
                     {.min = 1}},
                    {"num_epochs", "passes over the conversations", &num_epochs, {.min = 1}},
                    {"iterations",
                     "optimizer steps as nanochat counts them, the last of which trains nothing; "
                     "absent: from num_epochs",
                     &iterations,
                     {.min = 2}}};
  append(list, rates.fields());
  list.push_back(eval_every_field(&eval_every));
  list.push_back({"eval_batches",
                  "batches of device_batch_size conversations of one validation",
                  &eval_batches,
                  {.min = 1}});
  append(list, checkpoints.fields());
  return list;
}

Result<std::int64_t> accumulation_steps(const MidSettings& settings, std::int64_t sequence_len) {
  std::int64_t micro = 0;
  if (__builtin_mul_overflow(settings.device_batch_size, sequence_len, &micro))
    return bad_input(fmt::format("device_batch_size {} × sequence_len {} is too large a number",
                                 settings.device_batch_size, sequence_len));
  if (settings.total_batch_tokens % micro == 0) return settings.total_batch_tokens / micro;
  return bad_input(fmt::format(
      "total_batch_tokens {} is not a multiple of {} = device_batch_size {} × sequence_len {}; "
      "the nearest valid total_batch_tokens: {}",
      settings.total_batch_tokens, micro, settings.device_batch_size, sequence_len,
      nearest_multiples(settings.total_batch_tokens, micro)));
}

Result<std::int64_t> accumulation_steps(const SftSettings& settings) {
  if (settings.target_examples_per_step % settings.device_batch_size == 0)
    return settings.target_examples_per_step / settings.device_batch_size;
  return bad_input(fmt::format(
      "target_examples_per_step {} is not a multiple of device_batch_size {}; the nearest valid "
      "target_examples_per_step: {}",
      settings.target_examples_per_step, settings.device_batch_size,
      nearest_multiples(settings.target_examples_per_step, settings.device_batch_size)));
}

}  // namespace nb
