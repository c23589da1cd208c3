// What the readers share: lines with their numbers, names of columns, cells of known tasks.
#pragma once

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
std::string_view trimmed_text(std::string_view text);
std::string lower_text(std::string_view text);

// "GPU MID" → run "GPU", stage "MID"; "SFT" → stage alone; "llama" → run alone; "Score" → neither.
struct ColumnName {
  std::string run, stage;
};
ColumnName column_name(std::string_view header);

// The column of the table, made where it is not there yet.
ReportedStage& stage_of(ReportedTable& table, const std::string& run, const std::string& stage);

// A score under its label: finds the task or composite and says which scale it is on. "0.35 ±
// 0.01": the second number is taken for the standard error, as lm-eval prints it.
ReportedCell cell_of(std::string_view label, Printed score, std::size_t line);

// After reading: where at least half of the scores without a percent sign are above 1, all of them
// are percentages; what then is no accuracy is refused. In a table with CORE or ChatCORE, n of a
// known task that says none is its full test set.
enum class Percent { kGuessed, kNever };  // nanochat prints shares
Result<void> finish_cells(ReportedTable& table, Percent percent = Percent::kGuessed);
// At least one number, else a sentence that says what was expected.
Result<void> needs_numbers(const ReportedTable& table);

}  // namespace nb
