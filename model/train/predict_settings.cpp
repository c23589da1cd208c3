#include "model/train/predict_settings.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "harness/base/check.hpp"
#include "model/train/chat_settings.hpp"
#include "model/train/dry_step.hpp"
#include "model/train/settings.hpp"

namespace nb {
namespace {

std::int64_t examples_of(const PredictSettings& settings) {
  const bool is_sft = settings.stage == TrainingStage::kSft;
  return settings.examples_per_step.value_or(is_sft ? SftSettings{}.target_examples_per_step
                                                    : RlSettings{}.examples_per_step);
}

std::int64_t samples_of(const PredictSettings& settings) {
  return settings.num_samples.value_or(RlSettings{}.num_samples);
}

// What only some stages have; and what those must be told.
Result<void> check_stage(const PredictSettings& s) {
  using Stage = TrainingStage;
  if (s.stage == Stage::kDpo)
    return bad_input("stage: DPO is not predicted; there are base, mid, sft and rl");
  struct Own {
    const char* name;
    const std::optional<std::int64_t>& value;
    bool of_sft, of_rl, is_needed;
  };
  const bool is_sft = s.stage == Stage::kSft, is_rl = s.stage == Stage::kRl;
  for (const Own& own :
       {Own{"examples_per_step", s.examples_per_step, true, true, false},
        Own{"row_tokens", s.row_tokens, true, false, true},
        Own{"prompt_tokens", s.prompt_tokens, false, true, true},
        Own{"answer_tokens", s.answer_tokens, false, true, s.answer_lengths.empty()},
        Own{"num_samples", s.num_samples, false, true, false}}) {
    const bool concerns = (own.of_sft && is_sft) || (own.of_rl && is_rl);
    if (own.value && !concerns)
      return bad_input(
          fmt::format("{}: decides nothing: the stage is {}", own.name, name(s.stage)));
    if (!own.value && concerns && own.is_needed)
      return bad_input(
          fmt::format("{}: missing: {} depends on the length of the data; give the one "
                      "that is assumed",
                      own.name, name(s.stage)));
  }
  if (!s.answer_lengths.empty() && !is_rl)
    return bad_input(
        fmt::format("answer_lengths: decides nothing: the stage is {}", name(s.stage)));
  if (!s.answer_lengths.empty() && s.answer_tokens)
    return bad_input("answer_tokens: decides nothing beside answer_lengths; leave one out");
  if (counts_examples(s.stage) && row_tokens_of(s) > s.sequence_len)
    return bad_input(fmt::format("rows of {} tokens are longer than sequence_len {}",
                                 row_tokens_of(s), s.sequence_len));
  return {};
}

// A batch of one row divides the step wherever any batch does.
Result<void> check_batch(const PredictSettings& settings, std::int64_t device_batch_size) {
  if (!counts_examples(settings.stage)) {
    TrainSettings train;
    train.sequence_len = settings.sequence_len;
    train.device_batch_size = device_batch_size;
    train.total_batch_tokens = settings.total_batch_tokens;
    NB_TRY_VOID(plan_batch(train, settings.cards));
    return {};
  }
  NB_TRY(const std::int64_t rows, rows_of_step(settings));
  const std::int64_t divided = divided_rows(settings, rows);
  if (divided % device_batch_size == 0) return {};
  return bad_input(fmt::format(
      "the {} {} do not fill whole micro-batches of {} rows; give a divisor "
      "of {}",
      divided,
      settings.stage == TrainingStage::kRl ? "samples of an example" : "examples of a card",
      device_batch_size, divided));
}

}  // namespace

bool counts_examples(TrainingStage stage) {
  return stage == TrainingStage::kSft || stage == TrainingStage::kRl;
}

std::int64_t row_tokens_of(const PredictSettings& settings) {
  if (settings.stage == TrainingStage::kSft) return settings.row_tokens.value_or(0);
  if (settings.stage == TrainingStage::kRl)  // the last token is a target only
    return settings.prompt_tokens.value_or(0) + std::ranges::max(settings.answers()) - 1;
  return settings.sequence_len;
}

Result<std::int64_t> rows_of_step(const PredictSettings& settings) {
  if (!counts_examples(settings.stage))
    return settings.total_batch_tokens / (settings.cards * settings.sequence_len);
  const std::int64_t examples = examples_of(settings);
  if (examples % settings.cards != 0)
    return bad_input(fmt::format("examples_per_step {} is not a multiple of {} cards", examples,
                                 settings.cards));
  const bool is_rl = settings.stage == TrainingStage::kRl;
  return examples / settings.cards * (is_rl ? samples_of(settings) : 1);
}

std::int64_t divided_rows(const PredictSettings& settings, std::int64_t rows) {
  return settings.stage == TrainingStage::kRl ? samples_of(settings) : rows;
}

Result<DecoderConfig> config_of(const PredictSettings& settings) {
  TrainSettings train;
  train.depth = settings.depth;
  train.model = settings.model;
  train.sequence_len = settings.sequence_len;
  return decoder_config(train, settings.vocab_size);
}

namespace {

// All but DPO.
EnumRef predicted_stage(TrainingStage* stage) {
  using Stage = TrainingStage;
  static constexpr std::array kStages = {Stage::kBase, Stage::kMid, Stage::kSft, Stage::kRl};
  return {{"base", "mid", "sft", "rl"},
          [stage] {
            const auto at =
                std::ranges::find(kStages, *stage);  // DPO is refused before it is printed
            return static_cast<std::size_t>((at == kStages.end() ? kStages.begin() : at) -
                                            kStages.begin());
          },
          [stage](std::size_t i) { *stage = kStages[i]; }};
}

}  // namespace

FieldList PredictSettings::fields() {
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
      {"vocab_size", "entries of the tokenizer", &vocab_size, {.min = 1}},
      {"sequence_len", "tokens per row", &sequence_len, {.unit = "token", .min = 2}},
      {"cards", "devices that share each optimizer step, over all nodes", &cards, {.min = 1}},
      {"nodes",
       "servers over which the cards are spread evenly; absent: as few as possible",
       &nodes,
       {.min = 1}},
      {"device_batch_size",
       "rows per card and micro-batch; absent: the largest that fits and divides the step",
       &device_batch_size,
       {.min = 1}},
      {"total_batch_tokens",
       "tokens of one optimizer step over all cards",
       &total_batch_tokens,
       {.unit = "token", .min = 1}},
      {"stage", "base, mid, sft or rl", predicted_stage(&stage)},
      {"steps",
       "of the whole stage: gives its hours and tokens",
       &steps,
       {.unit = "step", .min = 1, .omits_absent = true}},
      {"examples_per_step",
       "SFT: rows, RL: questions of one optimizer step over all cards; absent: 32, 16",
       &examples_per_step,
       {.min = 1, .omits_absent = true}},
      {"row_tokens",
       "SFT: assumed length of the padded rows",
       &row_tokens,
       {.unit = "token", .min = 1, .omits_absent = true}},
      {"prompt_tokens",
       "RL: assumed length of a question",
       &prompt_tokens,
       {.unit = "token", .min = 1, .omits_absent = true}},
      {"answer_tokens",
       "RL: assumed length of an answer",
       &answer_tokens,
       {.unit = "token", .min = 1, .omits_absent = true}},
      {"answer_lengths",
       "RL: in place of answer_tokens: lengths that are equally frequent, e.g. [64, 128, 256]",
       &answer_lengths,
       {.unit = "token", .min = 1, .omits_absent = true}},
      {"num_samples",
       "RL: answers to each question; absent: 16",
       &num_samples,
       {.min = 1, .omits_absent = true}}};
}

std::vector<std::int64_t> PredictSettings::answers() const {
  return answer_lengths.empty() ? std::vector{answer_tokens.value_or(0)} : answer_lengths;
}

std::int64_t PredictSettings::tokens_per_step(std::int64_t rows_a_pass) const {
  if (!counts_examples(stage)) return total_batch_tokens;
  if (stage == TrainingStage::kSft) return examples_of(*this) * row_tokens_of(*this);
  const std::int64_t rows = examples_of(*this) * samples_of(*this) / cards;
  const DryRollout rollout = {rows / rows_a_pass, rows_a_pass, prompt_tokens.value_or(0),
                              answers()};
  return cards * rows_a_pass * rollout.row_tokens();
}

Result<void> check_prediction(const PredictSettings& settings) {
  NB_TRY_VOID(check_stage(settings));
  NB_TRY_VOID(check_batch(settings, settings.device_batch_size.value_or(1)));
  NB_TRY_VOID(config_of(settings));
  return {};
}

}  // namespace nb
