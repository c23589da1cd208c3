#include "evals/core_composite.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <string>
#include <utility>

#include "evals/core_tasks.hpp"
#include "harness/base/hash.hpp"
#include "results/metric_names.hpp"

namespace nb {
namespace {

// The result that fills a place of CORE: the real task's, else an approximation's, else nullptr.
const EvalResult* result_for(std::string_view label, std::span<const EvalResult> results) {
  const EvalResult* found = nullptr;
  for (const EvalResult& result : results) {
    const CoreTask* task = find_core_task(result.task);
    if (task == nullptr || task->core_label != label) continue;
    if (!task->is_approximate) return &result;
    found = &result;
  }
  return found;
}

double centred_accuracy(const EvalResult& result) {
  const std::string name = metric::of_task(result.task, metric::kCentred);
  return std::find_if(result.metrics.begin(), result.metrics.end(),
                      [&](const Metric& metric) { return metric.name == name; })
      ->value.value();
}

std::string comparability_hash(const EvalResult& result) {
  Sha256 hash;
  for (const auto& [key, value] : result.comparability)
    hash.update(fmt::format("{}\n{}\n", key, value));
  return hash.hex();
}

}  // namespace

std::vector<EvalResult> core_composites(std::span<const EvalResult> results,
                                        const EvalSettings& settings) {
  double sum = 0;
  int present = 0;
  bool is_approximate = false;
  std::string missing, task_set;
  Sha256 tasks_hash;
  const auto labels = core_labels();
  for (const std::string_view label : labels) {
    const EvalResult* result = result_for(label, results);
    if (result == nullptr) {
      missing += fmt::format("{}{}", missing.empty() ? "" : ", ", label);
      continue;
    }
    ++present;
    sum += centred_accuracy(*result);
    is_approximate = is_approximate || find_core_task(result->task)->is_approximate;
    task_set += fmt::format("{}{}", task_set.empty() ? "" : " ", result->task);
    tasks_hash.update(comparability_hash(*result));
  }
  if (present == 0) return {};
  EvalResult composite;
  composite.task = metric::kCore;
  if (settings.max_per_task > 0) composite.task += "_estimate";
  if (is_approximate) composite.task += "_with_hellaswag_approx";
  Metric value;
  value.name = composite.task;
  value.task = composite.task;
  value.unit = "1";
  value.direction = Direction::kHigher;
  value.n = present;
  if (missing.empty())
    value.value = sum / static_cast<double>(labels.size());
  else
    value.reason_if_null =
        fmt::format("CORE needs all {} tasks; missing: {}", labels.size(), missing);
  composite.metrics.push_back(std::move(value));
  composite.comparability = {{composite.task + "/task_set", sha256_hex(task_set)},
                             {composite.task + "/tasks", tasks_hash.hex()}};
  return {std::move(composite)};
}

}  // namespace nb
