#include "harness/run/write_evaluation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "evals/base/eval_metrics.hpp"
#include "evals/base/part_metrics.hpp"
#include "evals/core/csv.hpp"
#include "evals/task_registry.hpp"
#include "harness/base/fs.hpp"
#include "results/store/items.hpp"
#include "results/store/metric_names.hpp"

namespace nb {

std::vector<Use> uses_of(std::span<const EvalResult> results) {
  bool scores = false, generates = false;
  for (const EvalResult& result : results) {
    const Task* task = find_task(result.task);
    if (task == nullptr) continue;  // a composite
    (task->kind == kTextTask ? generates : scores) = true;
  }
  std::vector<Use> uses;
  if (scores) uses.push_back(Use::kScore);
  if (generates) uses.push_back(Use::kGenerate);
  return uses;
}

std::string unscored_text(const Record& record) {
  const std::string ending = metric::of_task("", metric::kNotScored);
  std::string text;
  std::vector<std::string> reasons;
  for (const Metric& m : record.metrics) {
    if (!m.value || !m.name.ends_with(ending)) continue;
    const std::string task = m.name.substr(0, m.name.size() - ending.size());
    text += fmt::format("{}{} ({} of {} items)", text.empty() ? "no score: " : ", ", task,
                        std::lround(*m.value * static_cast<double>(m.n)), m.n);
    const Metric* accuracy = find_metric(record, metric::of_task(task, metric::kAccuracy));
    if (const std::string why = why_unscored(accuracy ? accuracy->reason_if_null : "");
        std::ranges::find(reasons, why) == reasons.end())
      reasons.push_back(why);
  }
  return text.empty() ? "" : fmt::format("{}; {}", text, fmt::join(reasons, ", or "));
}

Result<void> write_evaluation(std::span<const EvalResult> results, const fs::path& folder,
                              Record& record) {
  add_to_record(results, record);
  for (const EvalResult& result : results) {
    if (result.items.empty()) continue;
    const std::string file = items_file(result.task);
    NB_TRY_VOID(write_items(folder / file, result.items));
    record.items[result.task] = file;
    record.artifacts[file] = "";
  }
  if (const std::string csv = core_csv(results); !csv.empty()) {
    NB_TRY_VOID(write_file(folder / kCoreCsvFile, csv));
    record.artifacts[kCoreCsvFile] = "";
  }
  if (const std::string csv = parts_csv(results); !csv.empty()) {
    NB_TRY_VOID(write_file(folder / kPartsCsvFile, csv));
    record.artifacts[kPartsCsvFile] = "";
  }
  return {};
}

}  // namespace nb
