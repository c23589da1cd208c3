#include "harness/suite/check_defects.hpp"

#include <fmt/format.h>

#include <optional>
#include <string_view>

#include "evals/task_registry.hpp"
#include "harness/suite/device_entry.hpp"
#include "model/train/mesh_settings.hpp"
#include "model/train/training_defects.hpp"

namespace nb {
namespace {

DefectScope scope_of(const Suite& suite) {
  DefectScope scope = 0;
  for (const TrainingStage stage : suite.stages.all()) scope |= scope_of(stage);
  for (const EvaluationSettings& evaluation : suite.evaluations) scope |= scope_of(evaluation);
  if (!suite.microbenchmarks.empty() || !suite.predictions.empty() || !suite.probes.empty())
    scope |= defect_scope::kDevice;
  return scope;
}

Result<std::int64_t> accumulation_steps(const TrainSettings& settings) {
  NB_TRY(const BatchPlan plan, plan_batch(settings, /*cards=*/1));
  return plan.accumulation_steps;
}

// What each stage does with the port's settings.
struct PortedStage {
  const char* name;
  std::int64_t batch, ported_batch;
  Result<std::int64_t> accumulation;  // of the ported batch
};

std::vector<PortedStage> ported_stages(const Suite& suite, const DecoderConfig& config,
                                       const PortDefects& defects) {
  std::vector<PortedStage> stages;
  const TrainSettings& base = suite.stages.base->settings;
  const TrainSettings ported = as_ported(base, config, defects);
  stages.push_back(
      {"base", base.total_batch_tokens, ported.total_batch_tokens, accumulation_steps(ported)});
  if (const auto& mid = suite.stages.mid) {
    const MidSettings other = as_ported(mid->settings, defects);
    stages.push_back({"mid", mid->settings.total_batch_tokens, other.total_batch_tokens,
                      accumulation_steps(other, other.sequence_len.value_or(config.sequence_len))});
  }
  if (const auto& sft = suite.stages.sft) {
    const SftSettings other = as_ported(sft->settings, 0, defects);
    const auto batch = [](const SftSettings& s) {
      return s.packed ? s.packed->total_batch_tokens : s.target_examples_per_step;
    };
    const std::int64_t length =
        other.packed ? other.packed->sequence_len.value_or(config.sequence_len) : 0;
    stages.push_back(
        {"sft", batch(sft->settings), batch(other), accumulation_steps(other, length)});
  }
  if (const auto& dpo = suite.stages.dpo) {
    const DpoSettings other = as_ported(dpo->settings, 0, defects);
    stages.push_back({"dpo", dpo->settings.target_examples_per_step, other.target_examples_per_step,
                      accumulation_steps(other)});
  }
  if (const auto& rl = suite.stages.rl) {
    const RlSettings other = as_ported(rl->settings, 0, defects);
    stages.push_back({"rl", rl->settings.examples_per_step, other.examples_per_step,
                      other.examples_per_step * other.num_samples / other.device_batch_size});
  }
  return stages;
}

Result<void> check_training(const Suite& suite, const PortDefects& defects,
                            const std::string& where) {
  const TrainSettings& base = suite.stages.base->settings;
  NB_TRY(const DecoderConfig config, decoder_config(base, suite.tokenizer.vocab_size));
  bool accumulates = false;
  for (const PortedStage& stage : ported_stages(suite, config, defects)) {
    if (defects.has(PortDefect::kHalfBatch)) {
      const std::string pointer = fmt::format("{}: half_batch: /stages/{}", where, stage.name);
      if (stage.batch % 2 != 0)
        return bad_input(fmt::format("{}: a batch of {} has no half", pointer, stage.batch));
      if (!stage.accumulation)
        return tl::unexpected<Error>(with_context(stage.accumulation.error(), pointer));
    }
    if (stage.name == std::string_view("base") && stage.accumulation)
      NB_TRY_VOID(check_replicas(*stage.accumulation, defects), where);
    accumulates = accumulates || (stage.accumulation && *stage.accumulation > 1);
  }
  if (defects.has(PortDefect::kLowPrecisionGradients) && !accumulates)
    return bad_input(
        fmt::format("{}: low_precision_gradients: changes nothing: no stage has more than one "
                    "micro-batch a step",
                    where));
  if (defects.has(PortDefect::kHalfSteps)) {
    const TrainSettings ported = as_ported(base, config, defects);
    NB_TRY_VOID(check_keep_steps(ported, *ported.iterations), where + ": half_steps");
    if (suite.stages.all().size() == 1 && planned_iterations(base, config) < 2)
      return bad_input(fmt::format("{}: half_steps: changes nothing: there is one step", where));
  }
  return {};
}

}  // namespace

DefectScope scope_of(const EvaluationSettings& evaluation) {
  DefectScope scope = 0;
  if (const auto tasks = expand_tasks(evaluation.settings, ""))
    for (const Task& task : *tasks)
      scope |= task.kind == kTextTask ? defect_scope::kGenerate : defect_scope::kScore;
  return scope;
}

Result<void> check_defects(const Suite& suite, const std::string& where) {
  const DefectScope scope = scope_of(suite);
  for (std::size_t i = 0; i < suite.devices.size(); ++i) {
    const std::string pointer = fmt::format("{}: /devices/{}/defects", where, i);
    NB_TRY(const PortDefects defects, parse_port_defects(suite.devices[i].defects, pointer));
    for (const PortDefect defect : defects.all())
      if ((info(defect).scope & scope) == 0)
        return bad_input(
            fmt::format("{}: {}: changes nothing: it concerns {}, and this suite has {}{}{}",
                        pointer, info(defect).name, scope_text(info(defect).scope),
                        scope == 0 ? "none of them" : scope_text(scope),
                        info(defect).why_not.empty() ? "" : "; ", info(defect).why_not));
    const std::optional<MeshSettings>& mesh = suite.devices[i].mesh;
    if (defects.has(PortDefect::kSpNormNotReduced) && !(mesh && mesh->is_sequence_parallel()))
      return bad_input(fmt::format(
          "{}: {}: changes nothing: the entry's mesh is not sequence_parallel; add that, with tp",
          pointer, info(PortDefect::kSpNormNotReduced).name));
    if (suite.stages.base && !defects.empty()) NB_TRY_VOID(check_training(suite, defects, pointer));
  }
  return {};
}

}  // namespace nb
