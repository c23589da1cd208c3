#include "model/train/predict.hpp"

#include <fmt/core.h>

#include <vector>

#include "harness/base/check.hpp"
#include "model/collectives/cost.hpp"
#include "model/decoder/presets.hpp"
#include "model/device/profile.hpp"
#include "model/train/chat_settings.hpp"
#include "model/train/dry_step.hpp"
#include "model/train/mfu.hpp"
#include "model/train/settings.hpp"

namespace nb {
namespace {

bool counts_examples(TrainingStage stage) {
  return stage == TrainingStage::kSft || stage == TrainingStage::kRl;
}

std::int64_t examples_of(const PredictSettings& settings) {
  const bool is_sft = settings.stage == TrainingStage::kSft;
  return settings.examples_per_step.value_or(is_sft ? SftSettings{}.target_examples_per_step
                                                    : RlSettings{}.examples_per_step);
}

std::int64_t samples_of(const PredictSettings& settings) {
  return settings.num_samples.value_or(RlSettings{}.num_samples);
}

// Tokens that a row is trained on.
std::int64_t row_tokens_of(const PredictSettings& settings) {
  if (settings.stage == TrainingStage::kSft) return settings.row_tokens.value_or(0);
  if (settings.stage == TrainingStage::kRl)  // the last token is a target only
    return settings.prompt_tokens.value_or(0) + settings.answer_tokens.value_or(0) - 1;
  return settings.sequence_len;
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
  for (const Own& own : {Own{"examples_per_step", s.examples_per_step, true, true, false},
                         Own{"row_tokens", s.row_tokens, true, false, true},
                         Own{"prompt_tokens", s.prompt_tokens, false, true, true},
                         Own{"answer_tokens", s.answer_tokens, false, true, true},
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
  if (counts_examples(s.stage) && row_tokens_of(s) > s.sequence_len)
    return bad_input(fmt::format("rows of {} tokens are longer than sequence_len {}",
                                 row_tokens_of(s), s.sequence_len));
  return {};
}

// Rows of one card in a step. SFT: examples; RL: samples of its examples.
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

// Of the rows that must fill whole micro-batches: RL's passes have samples of one example.
std::int64_t divided_rows(const PredictSettings& settings, std::int64_t rows) {
  return settings.stage == TrainingStage::kRl ? samples_of(settings) : rows;
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

Result<DecoderConfig> config_of(const PredictSettings& settings) {
  TrainSettings train;
  train.depth = settings.depth;
  train.model = settings.model;
  train.sequence_len = settings.sequence_len;
  return decoder_config(train, settings.vocab_size);
}

// Of the rows that a card computes in a step, the numbers that fill whole micro-batches, ascending.
std::vector<std::int64_t> dividing_batches(std::int64_t rows) {
  std::vector<std::int64_t> low, high;
  for (std::int64_t d = 1; d <= rows / d; ++d) {
    if (rows % d != 0) continue;
    low.push_back(d);
    if (d != rows / d) high.push_back(rows / d);
  }
  low.insert(low.end(), high.rbegin(), high.rend());
  return low;
}

DryStepRequest with_batch(DryStepRequest request, std::int64_t batch, std::int64_t rows) {
  request.device_batch_size = batch;
  request.accumulation_steps = rows / batch;
  if (request.rollout) {  // answers of one example are generated a micro-batch at a time
    request.rollout->requests = rows / batch;
    request.rollout->samples = batch;
  }
  return request;
}

// The largest batch that fits, of those that divide; one row where none does. From the largest
// down: a step of one micro-batch may need less memory than one of two smaller ones, which keeps
// gradients while activations grow.
void choose_batch(DryStepRequest& request, const PredictSettings& settings, std::int64_t rows,
                  const DeviceProfile& profile, Prediction& prediction) {
  const std::vector<std::int64_t> batches = dividing_batches(divided_rows(settings, rows));
  for (auto batch = batches.rbegin(); batch != batches.rend(); ++batch) {
    request = with_batch(request, *batch, rows);
    if (step_fits(request, profile)) return;
    prediction.too_large_batch_size = *batch;
  }
}

void fill_figures(const DryStep& step, const PredictSettings& settings,
                  const DeviceProfile& profile, Prediction& prediction) {
  prediction.fits = true;
  prediction.step_time_ns = static_cast<double>(step.step_time_ns);
  prediction.communication_time_ns = static_cast<double>(step.communication_time_ns);
  prediction.generate_time_ns = static_cast<double>(step.generate_time_ns);
  prediction.throughput_tok_s =
      1e9 * static_cast<double>(settings.tokens_per_step()) / prediction.step_time_ns;
  prediction.mfu = model_flop_utilization(prediction.flops_per_token, prediction.throughput_tok_s,
                                          settings.cards, profile);
  prediction.peak_allocated_bytes = step.peak_allocated_bytes;
  prediction.peak_reserved_bytes = step.peak_reserved_bytes;
  prediction.first_peak = step.first;
  prediction.steady_peak = step.steady;
  prediction.peak_by_use = step.peak_by_use;
  prediction.account = step.account;
  prediction.largest_device_batch_size = prediction.device_batch_size;
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
       "blocks are computed again in backward: less memory, more time",
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
      {"stage", "base, mid, sft or rl", enumerated(&stage, {"base", "mid", "sft", "dpo", "rl"})},
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
      {"num_samples",
       "RL: answers to each question; absent: 16",
       &num_samples,
       {.min = 1, .omits_absent = true}}};
}

std::int64_t PredictSettings::tokens_per_step() const {
  if (!counts_examples(stage)) return total_batch_tokens;
  const bool is_rl = stage == TrainingStage::kRl;
  return examples_of(*this) * (is_rl ? samples_of(*this) : 1) * row_tokens_of(*this);
}

Result<void> check_prediction(const PredictSettings& settings) {
  NB_TRY_VOID(check_stage(settings));
  NB_TRY_VOID(check_batch(settings, settings.device_batch_size.value_or(1)));
  NB_TRY_VOID(config_of(settings));
  return {};
}

Result<Prediction> predict(const PredictSettings& settings, const DeviceProfile& profile,
                           const std::optional<NodeLinkProfile>& between_nodes) {
  NB_TRY_VOID(check_prediction(settings));
  NB_TRY(const RankLayout layout,
         lay_out_ranks(profile, settings.cards, settings.nodes, between_nodes.has_value()));
  NB_TRY(const DecoderConfig config, config_of(settings));
  if (config.table_rows() % settings.cards != 0) {
    return bad_input(fmt::format(
        "vocab_size {} is not divisible by {} cards, which share the embedding's optimizer by rows",
        config.table_rows(), settings.cards));
  }
  Prediction prediction;
  prediction.nodes = layout.nodes;
  prediction.param_count = param_count(config);
  prediction.flops_per_token = flops_per_token(config);
  DryStepRequest request = {.config = config,
                            .cards = settings.cards,
                            .nodes = layout.nodes,
                            .between_nodes = between_nodes,
                            .accumulation_steps = 1,
                            .stage = settings.stage,
                            .recompute = settings.recompute.value_or(false)};
  if (settings.stage != TrainingStage::kBase) request.grad_clip.reset();
  if (counts_examples(settings.stage)) request.row_tokens = row_tokens_of(settings);
  if (settings.stage == TrainingStage::kRl)
    request.rollout = DryRollout{.prompt_tokens = *settings.prompt_tokens,
                                 .answer_tokens = *settings.answer_tokens};
  NB_TRY(const std::int64_t rows, rows_of_step(settings));
  if (settings.device_batch_size)
    request = with_batch(request, *settings.device_batch_size, rows);
  else
    choose_batch(request, settings, rows, profile, prediction);
  prediction.device_batch_size = request.device_batch_size;
  prediction.accumulation_steps = request.accumulation_steps;
  try {
    fill_figures(run_dry_step(request, profile), settings, profile, prediction);
  } catch (const OutOfMemory& failure) {
    prediction.out_of_memory = failure.what();
    prediction.largest_device_batch_size = largest_fitting_batch(request, profile);
  }
  for (const std::int64_t batch : dividing_batches(divided_rows(settings, rows)))
    if (batch <= prediction.largest_device_batch_size)
      prediction.largest_dividing_batch_size = batch;
  return prediction;
}

}  // namespace nb
