#include "model/train/training_defects.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

namespace nb {
namespace {

// Half of the steps, at least `least`.
std::int64_t steps_of(std::int64_t planned, std::int64_t least, const PortDefects& defects) {
  return defects.has(PortDefect::kHalfSteps) ? std::max(least, planned / 2) : planned;
}

bool changes_steps(const PortDefects& defects) {
  return defects.has(PortDefect::kHalfSteps) || defects.has(PortDefect::kHalfBatch);
}

std::int64_t batch_of(std::int64_t planned, const PortDefects& defects) {
  return defects.has(PortDefect::kHalfBatch) ? planned / 2 : planned;
}

}  // namespace

OptimizerRules optimizer_rules(const PortDefects& defects, AdamWDenominator denominator) {
  OptimizerRules rules;
  if (defects.has(PortDefect::kAdamWBetas))
    rules.adamw = {.beta1 = 0.9, .beta2 = 0.999, .epsilon = 1e-8};
  rules.adamw.denominator = denominator;
  rules.scales_with_width = !defects.has(PortDefect::kNoLrScale);
  rules.uses_muon = !defects.has(PortDefect::kMuonAsAdamW);
  return rules;
}

std::optional<DType> gradient_sum(const PortDefects& defects) {
  if (defects.has(PortDefect::kLowPrecisionGradients)) return DType::kBf16;
  return std::nullopt;
}

TrainSettings as_ported(TrainSettings settings, const DecoderConfig& config,
                        const PortDefects& defects) {
  if (!changes_steps(defects)) return settings;
  settings.iterations = steps_of(planned_iterations(settings, config), 1, defects);
  settings.total_batch_tokens = batch_of(settings.total_batch_tokens, defects);
  return settings;
}

MidSettings as_ported(MidSettings settings, const PortDefects& defects) {
  settings.total_batch_tokens = batch_of(settings.total_batch_tokens, defects);
  return settings;
}

SftSettings as_ported(SftSettings settings, std::int64_t conversations,
                      const PortDefects& defects) {
  if (!changes_steps(defects)) return settings;
  if (settings.packed) {
    settings.packed->total_batch_tokens = batch_of(settings.packed->total_batch_tokens, defects);
    return settings;
  }
  settings.iterations = steps_of(planned_steps(settings, conversations), kFewestSftSteps, defects);
  settings.target_examples_per_step = batch_of(settings.target_examples_per_step, defects);
  return settings;
}

StreamPlan as_ported(StreamPlan plan, const PortDefects& defects) {
  if (!defects.has(PortDefect::kHalfSteps) || plan.progress.size() < 2) return plan;
  plan.progress.resize(plan.progress.size() / 2);
  for (double& progress : plan.progress) progress *= 2;
  return plan;
}

DpoSettings as_ported(DpoSettings settings, std::int64_t pairs, const PortDefects& defects) {
  if (!changes_steps(defects)) return settings;
  settings.iterations = steps_of(planned_steps(settings, pairs), 1, defects);
  settings.target_examples_per_step = batch_of(settings.target_examples_per_step, defects);
  return settings;
}

RlSettings as_ported(RlSettings settings, std::int64_t questions, const PortDefects& defects) {
  if (!changes_steps(defects)) return settings;
  settings.iterations = steps_of(planned_steps(settings, questions), 1, defects);
  settings.examples_per_step = batch_of(settings.examples_per_step, defects);
  return settings;
}

void as_ported(std::optional<TensorPlan>& plan, const PortDefects& defects) {
  if (plan && defects.has(PortDefect::kSpNormNotReduced)) plan->sums_row_gradients = false;
}

Result<void> check_replicas(std::int64_t accumulation_steps, const PortDefects& defects) {
  if (!defects.has(PortDefect::kUnsyncedEmbeddingGradients) || accumulation_steps % 2 == 0)
    return {};
  return bad_input(
      fmt::format("{}: two replicas cannot share {} micro-batch{} a step; choose an even number",
                  info(PortDefect::kUnsyncedEmbeddingGradients).name, accumulation_steps,
                  accumulation_steps == 1 ? "" : "es"));
}

void add_replica(TrainedModel& model, const OptimizerRates& rates, const TrainSettings& settings,
                 const PortDefects& defects) {
  if (!defects.has(PortDefect::kUnsyncedEmbeddingGradients)) return;
  auto replica = std::make_unique<Replica>(model.decoder.config(), model.decoder.device(), rates,
                                           optimizer_rules(defects, model.adamw_denominator),
                                           settings.seed, Averaged::kMatrices);
  replica->decoder().set_recompute(settings.recompute.value_or(false));
  model.replica = replica.get();
  model.optimizers.push_back(std::move(replica));
}

Batch as_ported(Batch batch, const PortDefects& defects) {
  if (!defects.has(PortDefect::kTargetsOffByOne) || batch.targets.empty()) return batch;
  const auto length = static_cast<std::size_t>(batch.length);
  for (std::size_t row = 0; row < batch.targets.size(); row += length) {
    for (std::size_t t = row; t + 1 < row + length; ++t) batch.targets[t] = batch.targets[t + 1];
    batch.targets[row + length - 1] = -1;  // the row does not hold it
  }
  return batch;
}

void mask_as_ported(std::vector<std::uint8_t>& mask, const PortDefects& defects) {
  if (defects.has(PortDefect::kLossMaskIgnored)) std::ranges::fill(mask, std::uint8_t{1});
}

std::optional<ConversationSet> set_as_ported(const ConversationSet& set,
                                             const PortDefects& defects) {
  if (!defects.has(PortDefect::kLossMaskIgnored)) return std::nullopt;
  ConversationSet ported = set;  // with its digest: the data are the same
  for (RenderedConversation& one : ported.rendered) mask_as_ported(one.mask, defects);
  return ported;
}

Json with_defects(Json hashed_settings, const PortDefects& defects) {
  if (!defects.empty()) hashed_settings["defects"] = defects.names();
  return hashed_settings;
}

}  // namespace nb
