// What the readers share: lines with their numbers, names of columns, cells of known tasks.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "results/audit/table.hpp"

namespace nb {

struct Line {
  std::string_view text;  // without the line's end
  std::size_t number = 0;
};
std::vector<Line> lines_of(std::string_view text);

// "GPU MID" → run "GPU", stage "MID"; "SFT" → stage alone; "llama" → run alone; "Score" → neither.
struct ColumnName {
  std::string run, stage;
};
ColumnName column_name(std::string_view header);

// The column of the table, made where it is not there yet.
ReportedStage& stage_of(ReportedTable& table, const std::string& run, const std::string& stage);

// "0.35 ± 0.01", "0.35 (±0.01)": the standard error that was read as the number's unit, which is
// then empty. Nothing where the unit is another.
std::optional<double> take_error(Printed& score);

// A score under its label: finds the task or composite and says which scale it is on. A label that
// is no task but a metric of results/foreign/metric_kinds.hpp ("eval_loss", "wer") is the cell's
// metric. "0.35 ± 0.01": the second number is taken for the standard error, as lm-eval prints it.
ReportedCell cell_of(std::string_view label, Printed score, std::size_t line);
// The cell's metric, with the scale that follows: a share of right answers is an accuracy, all
// others are shown under their own name.
void set_metric(ReportedCell& cell, std::string_view metric);

// A label that is no known task, with a value that is no share nor a percentage (1200, -3): a
// metric that nobody knows, shown under its label. For tables that do not say that they hold
// accuracies.
void set_aside_if_no_share(ReportedCell& cell);

// A column's or row's head: "MMLU (5-shot) ↑", "WER (%) ↓", "HumanEval (pass@1)".
struct Head {
  std::string label;  // without arrows and what is understood of the brackets
  std::string metric, shots;
  std::optional<Direction> direction;
  std::optional<bool> is_percent;  // true: says so
};
Head head_of(std::string_view text);
void say_head(const Head& head, ReportedCell& cell);

// After reading. Of each metric by itself: where at least half of its scores without a percent sign
// are above 1, all of them are percentages; what then is no accuracy is refused. In a table with
// CORE or ChatCORE, n of a known task that says none is its full test set.
enum class Percent { kGuessed, kNever };  // nanochat prints shares
Result<void> finish_cells(ReportedTable& table, Percent percent = Percent::kGuessed);
// At least one number, else a sentence that says what was expected.
Result<void> needs_numbers(const ReportedTable& table);

}  // namespace nb
