#include "model/train/predict.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <vector>

#include "model/collectives/cost.hpp"
#include "model/device/profile.hpp"
#include "model/train/dry_step.hpp"
#include "model/train/fit_batch.hpp"
#include "model/train/mfu.hpp"
#include "model/train/settings.hpp"

namespace nb {
namespace {

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
  request.accumulation_steps = std::max<std::int64_t>(rows / batch, 1);
  if (request.rollout) {  // answers of one example are generated a micro-batch at a time
    request.rollout->requests = request.accumulation_steps;
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
      1e9 * static_cast<double>(settings.tokens_per_step(prediction.device_batch_size)) /
      prediction.step_time_ns;
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

// Two per cent more or less memory change the answer. Where the pools leave that much, less does
// not.
bool is_borderline(const DryStepRequest& request, const DeviceProfile& profile,
                   const Prediction& prediction) {
  if (!prediction.fits) return step_fits(request, with_capacity(profile, 1 + kBorderlineShare));
  const MemoryBudget budget = profile.memory_budget(static_cast<int>(request.cards));
  const double used = static_cast<double>(budget.reserve_bytes + prediction.peak_reserved_bytes);
  if (used <= (1 - kBorderlineShare) * static_cast<double>(budget.capacity_bytes)) return false;
  return !step_fits(request, with_capacity(profile, 1 - kBorderlineShare));
}

}  // namespace

Result<DryStepRequest> dry_step_request(const PredictSettings& settings,
                                        const DeviceProfile& profile,
                                        const std::optional<NodeLinkProfile>& between_nodes,
                                        std::int64_t device_batch_size) {
  NB_TRY_VOID(check_prediction(settings));
  NB_TRY(const RankLayout layout,
         lay_out_ranks(profile, settings.cards, settings.nodes, between_nodes.has_value()));
  NB_TRY(const DecoderConfig config, config_of(settings));
  // Where the cards cannot share the embedding's optimizer, each of them trains by itself.
  const bool is_shared = config.table_rows() % settings.cards == 0;
  DryStepRequest request = {.config = config,
                            .cards = is_shared ? settings.cards : 1,
                            .nodes = is_shared ? layout.nodes : 1,
                            .between_nodes = between_nodes,
                            .stage = settings.stage,
                            .recompute = settings.recompute.value_or(false)};
  if (settings.stage != TrainingStage::kBase) request.grad_clip.reset();
  if (counts_examples(settings.stage)) request.row_tokens = row_tokens_of(settings);
  if (settings.stage == TrainingStage::kRl)
    request.rollout =
        DryRollout{.prompt_tokens = *settings.prompt_tokens, .answer_tokens = settings.answers()};
  NB_TRY(const std::int64_t rows, rows_of_step(settings));
  return with_batch(request, device_batch_size, rows);
}

Result<Prediction> predict(const PredictSettings& settings, const DeviceProfile& profile,
                           const std::optional<NodeLinkProfile>& between_nodes) {
  NB_TRY(DryStepRequest request, dry_step_request(settings, profile, between_nodes,
                                                  settings.device_batch_size.value_or(1)));
  NB_TRY(const std::int64_t rows, rows_of_step(settings));
  Prediction prediction;
  prediction.nodes = request.nodes;
  if (request.cards != settings.cards)
    prediction.note = fmt::format(
        "the {} rows of the embedding do not divide by {} cards, which share its optimizer by "
        "rows: "
        "nanochat stops there. Answered as the fork nano-chat-NPU @ 80cd241 trains it: every card "
        "by "
        "itself with whole optimizers, no gradient exchanged, so that the cards' weights differ",
        request.config.table_rows(), settings.cards);
  prediction.param_count = param_count(request.config);
  prediction.flops_per_token = flops_per_token(request.config);
  if (!settings.device_batch_size) choose_batch(request, settings, rows, profile, prediction);
  prediction.device_batch_size = request.device_batch_size;
  prediction.accumulation_steps = request.accumulation_steps;
  try {
    fill_figures(run_dry_step(request, profile), settings, profile, prediction);
  } catch (const OutOfMemory& failure) {
    prediction.out_of_memory = failure.what();
    prediction.largest_device_batch_size = largest_fitting_batch(request, profile);
  }
  prediction.is_borderline = is_borderline(request, profile, prediction);
  for (const std::int64_t batch : dividing_batches(divided_rows(settings, rows)))
    if (batch <= prediction.largest_device_batch_size)
      prediction.largest_dividing_batch_size = batch;
  return prediction;
}

}  // namespace nb
