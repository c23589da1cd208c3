#include "evals/core/csv.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <optional>
#include <string_view>

#include "evals/core/task_table.hpp"
#include "results/store/metric_names.hpp"

namespace nb {
namespace {

constexpr const char* kTextRow = "{:<35}, {:<10}, {:<10}\n";

std::optional<double> value_of(const EvalResult& result, std::string_view name) {
  for (const Metric& metric : result.metrics)
    if (metric.name == name) return metric.value;
  return std::nullopt;
}

}  // namespace

std::string core_csv(std::span<const EvalResult> results) {
  std::string rows;
  for (const CoreTask& task : core_tasks()) {
    if (task.core_label.empty()) continue;
    const auto result = std::find_if(results.begin(), results.end(),
                                     [&](const EvalResult& r) { return r.task == task.id; });
    if (result == results.end()) continue;
    const auto accuracy = value_of(*result, metric::of_task(task.id, metric::kAccuracy));
    const auto centre = value_of(*result, metric::of_task(task.id, metric::kCentred));
    if (accuracy && centre)
      rows += fmt::format("{:<35}, {:<10.6f}, {:<10.6f}\n", task.id, *accuracy, *centre);
  }
  if (rows.empty()) return "";
  std::string csv = fmt::format(kTextRow, "Task", "Accuracy", "Centered") + rows;
  for (const EvalResult& result : results)
    if (result.task.starts_with(metric::kCore) && !result.metrics.empty())
      if (const auto core = value_of(result, result.task))
        csv += fmt::format("{:<35}, {:<10}, {:<10.6f}\n",
                           result.task == metric::kCore ? "CORE" : result.task, "", *core);
  return csv;
}

}  // namespace nb
