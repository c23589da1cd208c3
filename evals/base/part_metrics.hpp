// Scores of parts of a task: a subject of MMLU, a file of texts. They follow from the task's own
// and are shown beside it, never judged for themselves.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "evals/base/eval_result.hpp"
#include "results/store/record.hpp"

namespace nb {

// "mmlu/accuracy" → "mmlu/anatomy/accuracy", still a metric of the task mmlu.
Metric as_part(Metric metric, std::string_view part);
// "anatomy" of "mmlu/anatomy/accuracy"; empty: of the whole task, or of another.
std::string_view part_of(std::string_view metric, std::string_view task);

// Of a share of n items: sqrt(a (1 − a) / (n − 1)), as lm-evaluation-harness's mean_stderr has it.
// Nothing: no value, or one item.
std::optional<double> standard_error(const Metric& metric);

// "task,part,metric,value,standard_error,n", a line a part; empty where no task has parts.
inline constexpr const char* kPartsCsvFile = "parts.csv";
std::string parts_csv(std::span<const EvalResult> results);

}  // namespace nb
