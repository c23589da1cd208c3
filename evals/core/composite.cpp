#include "evals/core/composite.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

#include "evals/base/eval_metrics.hpp"
#include "evals/core/task_table.hpp"
#include "harness/base/hash.hpp"
#include "results/store/metric_names.hpp"

namespace nb {
namespace {

// The result that fills a place of CORE: the real task's, else an approximation's, else nullptr.
const EvalResult* result_for(std::string_view label, std::span<const EvalResult> results) {
  const EvalResult* found = nullptr;
  for (const EvalResult& result : results) {
    const CoreTask* task = find_core_task(result.task);
    if (task == nullptr || task->core_label != label || result.metrics.empty()) continue;
    if (!task->is_approximate) return &result;
    found = &result;
  }
  return found;
}

// Nothing when an item has no score.
std::optional<double> accuracy_of(const EvalResult& result) {
  const std::string name = metric::of_task(result.task, metric::kAccuracy);
  return std::find_if(result.metrics.begin(), result.metrics.end(),
                      [&](const Metric& metric) { return metric.name == name; })
      ->value;
}

// "copa, piqa, squad, coqa and 17 more".
std::string named(std::span<const std::string_view> labels) {
  constexpr std::size_t kShown = 4;
  const std::size_t shown = labels.size() <= kShown + 1 ? labels.size() : kShown;
  std::string text = fmt::format("{}", fmt::join(labels.first(shown), ", "));
  if (shown < labels.size()) text += fmt::format(" and {} more", labels.size() - shown);
  return text;
}

Metric composite_metric(const std::string& name, const std::string& task, int present,
                        const std::string& reason, std::optional<double> value) {
  Metric metric;
  metric.name = name;
  metric.task = task;
  metric.unit = "1";
  metric.direction = Direction::kHigher;
  metric.n = present;
  metric.value = value;
  if (!value) metric.reason_if_null = reason;
  return metric;
}

std::string comparability_hash(const EvalResult& result) {
  Sha256 hash;
  for (const auto& [key, value] : result.comparability)
    hash.update(fmt::format("{}\n{}\n", key, value));
  return hash.hex();
}

}  // namespace

std::optional<double> core_of(const std::map<std::string, double>& accuracies,
                              std::string_view baselines) {
  double sum = 0;
  const auto labels = core_labels();
  for (const std::string_view label : labels) {
    const auto accuracy = accuracies.find(std::string(label));
    if (accuracy == accuracies.end()) return std::nullopt;
    const CoreTask& task = *find_core_task(label);
    sum += centred(accuracy->second, baselines == "v2" ? task.baseline_v2 : task.baseline_v1);
  }
  return sum / static_cast<double>(labels.size());
}

std::vector<EvalResult> core_composites(std::span<const EvalResult> results,
                                        const EvalSettings& settings) {
  std::map<std::string, double> accuracies;
  bool is_approximate = false;
  std::string task_set;
  std::vector<std::string_view> missing, unscored;
  Sha256 tasks_hash;
  for (const std::string_view label : core_labels()) {
    const EvalResult* result = result_for(label, results);
    if (result == nullptr) {
      missing.push_back(label);
      continue;
    }
    const std::optional<double> accuracy = accuracy_of(*result);
    if (!accuracy) unscored.push_back(label);
    accuracies[std::string(label)] = accuracy.value_or(0);
    is_approximate = is_approximate || find_core_task(result->task)->is_approximate;
    task_set += fmt::format("{}{}", task_set.empty() ? "" : " ", result->task);
    tasks_hash.update(comparability_hash(*result));
  }
  if (accuracies.empty()) return {};
  EvalResult composite;
  composite.task = metric::kCore;
  if (settings.max_per_task > 0) composite.task += "_estimate";
  if (settings.num_fewshot) composite.task += fmt::format("_with_{}_shots", *settings.num_fewshot);
  if (is_approximate) composite.task += "_with_hellaswag_approx";
  const int present = static_cast<int>(accuracies.size());
  const std::string other = settings.baselines == "v1" ? "v2" : "v1";
  const std::string reason =
      unscored.empty()
          ? fmt::format("CORE needs all {} tasks; missing: {}", core_labels().size(),
                        named(missing))
          : fmt::format(
                "CORE needs a score of each task; none: {} (the model's numbers are not "
                "finite)",
                named(unscored));
  const auto core = [&](std::string_view baselines) {
    return unscored.empty() ? core_of(accuracies, baselines) : std::nullopt;
  };
  composite.metrics = {
      composite_metric(composite.task, composite.task, present, reason, core(settings.baselines)),
      composite_metric(composite.task + "_" + other, composite.task, present, reason, core(other))};
  composite.metrics.back().direction = Direction::kNone;  // shown, not judged: the first is gated
  composite.comparability = {{composite.task + "/task_set", sha256_hex(task_set)},
                             {composite.task + "/tasks", tasks_hash.hex()}};
  return {std::move(composite)};
}

}  // namespace nb
