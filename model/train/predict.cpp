#include "model/train/predict.hpp"

#include <fmt/core.h>

#include <vector>

#include "harness/base/check.hpp"
#include "model/collectives/cost.hpp"
#include "model/decoder/presets.hpp"
#include "model/device/profile.hpp"
#include "model/train/dry_step.hpp"
#include "model/train/mfu.hpp"
#include "model/train/settings.hpp"

namespace nb {
namespace {

// A batch of one row divides the step wherever any batch does.
Result<BatchPlan> plan_of(const PredictSettings& settings, std::int64_t device_batch_size) {
  TrainSettings train;
  train.sequence_len = settings.sequence_len;
  train.device_batch_size = device_batch_size;
  train.total_batch_tokens = settings.total_batch_tokens;
  return plan_batch(train, settings.cards);
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

std::int64_t rows_of_step(const PredictSettings& settings) {
  return settings.total_batch_tokens / (settings.cards * settings.sequence_len);
}

DryStepRequest with_batch(DryStepRequest request, std::int64_t batch, std::int64_t rows) {
  request.device_batch_size = batch;
  request.accumulation_steps = rows / batch;
  return request;
}

// The largest batch that fits, of those that divide; one row where none does. From the largest
// down: a step of one micro-batch may need less memory than one of two smaller ones, which keeps
// gradients while activations grow.
void choose_batch(DryStepRequest& request, const PredictSettings& settings,
                  const DeviceProfile& profile, Prediction& prediction) {
  const std::int64_t rows = rows_of_step(settings);
  const std::vector<std::int64_t> batches = dividing_batches(rows);
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
  prediction.throughput_tok_s =
      1e9 * static_cast<double>(settings.total_batch_tokens) / prediction.step_time_ns;
  prediction.mfu = model_flop_utilization(prediction.flops_per_token, prediction.throughput_tok_s,
                                          settings.cards, profile);
  prediction.peak_allocated_bytes = step.peak_allocated_bytes;
  prediction.peak_reserved_bytes = step.peak_reserved_bytes;
  prediction.largest_device_batch_size = prediction.device_batch_size;
}

}  // namespace

FieldList PredictSettings::fields() {
  return {{"depth", "blocks; width is 64 × depth", &depth, {.min = 1, .max = 128}},
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
           {.unit = "token", .min = 1}}};
}

Result<void> check_prediction(const PredictSettings& settings) {
  NB_TRY_VOID(plan_of(settings, settings.device_batch_size.value_or(1)));
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
                            .recompute = settings.recompute.value_or(false)};
  if (settings.device_batch_size)
    request = with_batch(request, *settings.device_batch_size, rows_of_step(settings));
  else
    choose_batch(request, settings, profile, prediction);
  prediction.device_batch_size = request.device_batch_size;
  prediction.accumulation_steps = request.accumulation_steps;
  try {
    fill_figures(run_dry_step(request, profile), settings, profile, prediction);
  } catch (const OutOfMemory& failure) {
    prediction.out_of_memory = failure.what();
    prediction.largest_device_batch_size = largest_fitting_batch(request, profile);
  }
  for (const std::int64_t batch : dividing_batches(rows_of_step(settings)))
    if (batch <= prediction.largest_device_batch_size)
      prediction.largest_dividing_batch_size = batch;
  return prediction;
}

}  // namespace nb
