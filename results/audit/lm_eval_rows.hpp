// The table that lm-evaluation-harness prints at its end, and its likes: a row per metric, with the
// filter, the shots and the task's version beside it, groups shown by indentation. lighteval prints
// the same without filters, vllm-ascend posts it with the arrow in the value's cell.
// Sources: EleutherAI/lm-evaluation-harness @ 4e7e0d47f: lm_eval/utils.py (make_table), @ v0.3.0:
// lm_eval/evaluator.py; vllm-project/vllm-ascend @ 182b75ea: docs, its accuracy reports.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "harness/base/result.hpp"
#include "results/audit/printed_tables.hpp"
#include "results/audit/table.hpp"
#include "results/store/record.hpp"

namespace nb {

struct LmEvalRow {
  std::string task;    // whole: "mmlu_anatomy" where the table has "- anatomy" below mmlu
  std::string filter;  // empty: none, or the table has no such column
  std::string metric;
  std::string shots;    // empty: not said, or of a group (the harness prints 0 or nothing there)
  std::string version;  // empty: not said
  Printed value;
  std::optional<double> standard_error;
  std::optional<Direction> arrow;  // as printed; empty: none
  bool is_group = false;           // its value is that of the rows below it
  std::string part_of;             // the innermost group that holds it; empty: none
  std::size_t line = 0;
};

// A first column Task, Tasks or Groups, columns Metric and Value, and one of Version, n-shot and
// Stderr.
bool is_lm_eval_table(const PrintedTable& table);
// Rows with a value; "N/A" is none. The message of an error begins with where:line.
Result<std::vector<LmEvalRow>> lm_eval_rows(const PrintedTable& table, const std::string& where);

}  // namespace nb
