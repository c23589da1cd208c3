#include "model/train/chat_settings.hpp"

#include <fmt/core.h>

#include <iterator>

#include "model/train/adamw_choice.hpp"
#include "model/train/rl_objective.hpp"

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

Field lora_field(std::optional<AdapterSettings>* lora) {
  return {"lora",
          "adapters that are trained in place of the weights",
          object(lora),
          {.omits_absent = true}};
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
          {"init_lr_frac", "all rates times this at the start", &init_lr_frac, {.min = 0}},
          adamw_field(&adamw_denominator)};
}

FieldList AdapterSettings::fields() {
  FieldList list = lora.fields();
  list.push_back({"dropout",
                  "share of the adapters' inputs that is left out in training",
                  &dropout,
                  {.min = 0, .max = 0.99}});
  list.push_back({"adapter_lr",
                  "AdamW rate of the adapters; init_lr_frac leaves it alone",
                  &adapter_lr,
                  {.min = 0}});
  list.push_back(
      {"seed", "of their first values and the dropout; absent: the training's", &seed, {.min = 0}});
  return list;
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
  list.push_back(lora_field(&lora));
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
                     {.min = kFewestSftSteps}}};
  append(list, rates.fields());
  list.push_back(eval_every_field(&eval_every));
  list.push_back({"eval_batches",
                  "batches of device_batch_size conversations of one validation",
                  &eval_batches,
                  {.min = 1}});
  list.push_back(
      {"packed",
       "whole conversations packed into rows of one length, the longest that fits first, "
       "as newer nanochat does; given: batches, pass, rate and validation go by its "
       "settings; absent: one conversation a row",
       object(&packed),
       {.omits_absent = true}});
  append(list, checkpoints.fields());
  list.push_back(lora_field(&lora));
  return list;
}

FieldList DpoSettings::fields() {
  FieldList list = {
      {"device_batch_size", "pairs per card and micro-batch", &device_batch_size, {.min = 1}},
      {"target_examples_per_step",
       "pairs of one optimizer step; a multiple of device_batch_size",
       &target_examples_per_step,
       {.min = 1}},
      {"num_epochs", "passes over the pairs", &num_epochs, {.min = 1}},
      {"iterations", "optimizer steps; absent: from num_epochs", &iterations, {.min = 1}},
      {"beta", "how much the first weights hold: rewards are beta × log ratios", &beta, {.min = 0}},
      {"label_smoothing",
       "share of pairs whose preference is taken for wrong",
       &label_smoothing,
       {.min = 0, .max = 0.49}}};
  append(list, rates.fields());
  list.push_back(eval_every_field(&eval_every));
  list.push_back({"eval_batches",
                  "batches of device_batch_size pairs of one validation",
                  &eval_batches,
                  {.min = 1}});
  append(list, checkpoints.fields());
  list.push_back(lora_field(&lora));
  return list;
}

FieldList RlSettings::fields() {
  FieldList list = {
      batch_field(&device_batch_size),
      {"examples_per_step", "questions of one optimizer step", &examples_per_step, {.min = 1}},
      {"num_samples",
       "answers to each question; a multiple of device_batch_size",
       &num_samples,
       {.min = 1}},
      {"num_epochs", "passes over the questions", &num_epochs, {.min = 1}},
      {"iterations", "steps; absent: from num_epochs", &iterations, {.min = 1}},
      {"objective",
       "policy_gradient: nanochat's; clipped: GRPO's ratio, clip and divergence; its kin: gspo (a "
       "ratio a sequence), sapo (a gate for the clip), cispo (the ratio as a capped weight), bnpo "
       "(mean over tokens), dr_grpo (sum over sequences × max_new_tokens)",
       enumerated(&objective,
                  {"policy_gradient", "clipped", "gspo", "sapo", "cispo", "bnpo", "dr_grpo"})},
      {"advantage",
       "reward against the others of its question: minus their mean; over the deviation too; "
       "minus the mean of the others alone; or as it is",
       enumerated(&advantage, {"mean", "mean_std", "leave_one_out", "none"})},
      {"clip_low",
       "of objectives that clip: the ratio's lower limit is 1 minus this",
       &clip_low,
       {.min = 0, .max = 1}},
      {"clip_high",
       "of objectives that clip or cap: the ratio's upper limit is 1 plus this",
       &clip_high,
       {.min = 0}},
      {"pass_weights",
       "cispo, bnpo: an update is the mean over its training passes, as Twinkle's was at first "
       "(equal), or over the tokens of them all, as Twinkle's is since it weighs micro-batches "
       "(tokens); absent: equal",
       &pass_weights,
       {.one_of = {"equal", "tokens"}, .omits_absent = true}},
      {"gate_up",
       "sapo: temperature of the gate of tokens with an advantage above 0; absent: 1",
       &gate_up,
       {.min = 0.01, .max = 100, .omits_absent = true}},
      {"gate_down",
       "sapo: of the others; absent: 1",
       &gate_down,
       {.min = 0.01, .max = 100, .omits_absent = true}},
      {"kl_weight",
       "of objectives with a ratio: of the divergence from the first weights",
       &kl_weight,
       {.min = 0}},
      {"has_reference", "the first weights stay on the device, for kl_weight", &has_reference},
      {"updates_per_rollout",
       "of objectives with a ratio: optimizer steps on the same samples",
       &updates_per_rollout,
       {.min = 1, .max = 64}},
      {"max_new_tokens", "of an answer, the calculator's included", &max_new_tokens, {.min = 1}},
      {"temperature", "of the samples", &temperature, {.min = 0}},
      {"top_k", "samples draw from the k likeliest tokens; null: from all", &top_k, {.min = 1}},
      {"shares_first_token",
       "the samples of a pass share their first token, as nanochat's until 2025-12-28",
       &shares_first_token},
      {"rollout_batch_size",
       "samples that the device generates together; changes no token",
       &rollout_batch_size,
       {.min = 1, .max = 4096}}};
  append(list, rates.fields());
  list.push_back(eval_every_field(&eval_every));
  list.push_back(
      {"eval_examples", "held-out questions of one validation", &eval_examples, {.min = 1}});
  list.push_back({"eval_samples", "answers to each of them", &eval_samples, {.min = 1}});
  append(list, checkpoints.fields());
  list.push_back(lora_field(&lora));
  list.push_back({"seed", "of the samples", &seed});
  return list;
}

std::int64_t planned_steps(const SftSettings& settings, std::int64_t conversations) {
  return settings.iterations.value_or(conversations / settings.target_examples_per_step *
                                      settings.num_epochs);
}

std::int64_t planned_steps(const DpoSettings& settings, std::int64_t pairs) {
  return settings.iterations.value_or(pairs / settings.target_examples_per_step *
                                      settings.num_epochs);
}

std::int64_t planned_steps(const RlSettings& settings, std::int64_t questions) {
  return settings.iterations.value_or(questions / settings.examples_per_step * settings.num_epochs);
}

Result<std::int64_t> passes_per_example(const RlSettings& settings) {
  if (settings.num_samples % settings.device_batch_size != 0)
    return bad_input(fmt::format(
        "num_samples {} is not a multiple of device_batch_size {}; the nearest valid num_samples: "
        "{}",
        settings.num_samples, settings.device_batch_size,
        nearest_multiples(settings.num_samples, settings.device_batch_size)));
  if (settings.num_samples == 1 && settings.advantage != AdvantageKind::kNone)
    return bad_input(
        "num_samples 1: a group of one has nothing to compare its reward with; use 2 or more, or "
        "advantage \"none\"");
  NB_TRY_VOID(check_objective(settings));
  return settings.num_samples / settings.device_batch_size;
}

namespace {

// Of stages that count tokens: MID and packed SFT.
Result<std::int64_t> steps_of_tokens(std::int64_t total_batch_tokens,
                                     std::int64_t device_batch_size, std::int64_t sequence_len) {
  std::int64_t micro = 0;
  if (__builtin_mul_overflow(device_batch_size, sequence_len, &micro))
    return bad_input(fmt::format("device_batch_size {} × sequence_len {} is too large a number",
                                 device_batch_size, sequence_len));
  if (total_batch_tokens % micro == 0) return total_batch_tokens / micro;
  return bad_input(fmt::format(
      "total_batch_tokens {} is not a multiple of {} = device_batch_size {} × sequence_len {}; "
      "the nearest valid total_batch_tokens: {}",
      total_batch_tokens, micro, device_batch_size, sequence_len,
      nearest_multiples(total_batch_tokens, micro)));
}

Result<void> check_packed(const SftSettings& settings) {
  const SftSettings untouched;
  const auto unread = [](const char* setting, const char* instead) {
    return bad_input(
        fmt::format("{}: packed rows do not read it; leave it out ({})", setting, instead));
  };
  if (settings.target_examples_per_step != untouched.target_examples_per_step)
    return unread("target_examples_per_step", "packed/total_batch_tokens says the batch");
  if (settings.num_epochs != untouched.num_epochs || settings.iterations)
    return unread(settings.iterations ? "iterations" : "num_epochs",
                  "they are one pass over the conversations");
  if (settings.eval_batches != untouched.eval_batches)
    return unread("eval_batches", "packed/eval_tokens says the validation");
  if (settings.lora && settings.packed->keeps_optimizer)
    return bad_input(
        "packed/keeps_optimizer: the stage before has no moments of adapters; set it to false");
  return {};
}

}  // namespace

Result<std::int64_t> accumulation_steps(const MidSettings& settings, std::int64_t sequence_len) {
  return steps_of_tokens(settings.total_batch_tokens, settings.device_batch_size, sequence_len);
}

namespace {

// Of stages that count rows: SFT and DPO.
template <class Settings>
Result<std::int64_t> steps_of_rows(const Settings& settings) {
  if (settings.target_examples_per_step % settings.device_batch_size == 0)
    return settings.target_examples_per_step / settings.device_batch_size;
  return bad_input(fmt::format(
      "target_examples_per_step {} is not a multiple of device_batch_size {}; the nearest valid "
      "target_examples_per_step: {}",
      settings.target_examples_per_step, settings.device_batch_size,
      nearest_multiples(settings.target_examples_per_step, settings.device_batch_size)));
}

}  // namespace

Result<std::int64_t> accumulation_steps(const SftSettings& settings, std::int64_t sequence_len) {
  if (!settings.packed) return steps_of_rows(settings);
  NB_TRY_VOID(check_packed(settings));
  return steps_of_tokens(settings.packed->total_batch_tokens, settings.device_batch_size,
                         sequence_len);
}
Result<std::int64_t> accumulation_steps(const DpoSettings& settings) {
  return steps_of_rows(settings);
}

}  // namespace nb
