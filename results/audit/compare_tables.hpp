// Two tables of reported results task by task, where neither has answers to items: an unpaired
// two-proportion test, or the difference over both standard errors, Holm over the tasks. Items that
// both answered would make a far sharper test (item_comparison.hpp); the text says so.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "harness/base/json_io.hpp"
#include "results/audit/aggregates.hpp"
#include "results/audit/table.hpp"

namespace nb {

enum class ScoreTest {
  kProportions,     // pooled two-proportion z: both sides say n
  kStandardErrors,  // difference / sqrt(a² + b²): both sides have a standard error
  kNone,            // nothing says how sure the scores are
};

struct ScoreDifference {
  std::string task, label;
  double a = 0, b = 0, difference = 0;  // b - a
  ScoreTest test = ScoreTest::kNone;
  std::optional<double> z, p_two_sided, p_adjusted;  // Holm over the tasks of the comparison
  std::optional<Interval> interval95;                // unpooled
  std::optional<double> visible;  // difference that such a test finds with 80 % power
};
ScoreDifference score_difference(const ReportedCell& a, const ReportedCell& b);

enum class TableVerdict { kPass, kRegressed, kImproved, kCantTell };
std::string_view name(TableVerdict verdict);  // "PASS", "REGRESSED", …

struct AggregateDifference {
  std::string name;  // "chatcore_with_spellingbee"
  std::optional<double> a, b;
};

struct TableComparison {
  std::string a, b;  // names of the sides
  std::vector<ScoreDifference> tasks;
  std::vector<AggregateDifference> aggregates;  // shown, never judged: they hide what moved
  std::vector<std::string> only_a, only_b;      // tasks that one side lacks
  std::vector<std::string> worse, better;       // significant after Holm, by label
  TableVerdict verdict = TableVerdict::kCantTell;
};

struct TableComparisonOptions {
  double alpha = .05;
};
// Two columns: one stage of each.
TableComparison compare_stages(const ReportedStage& a, const std::string& name_a,
                               const ReportedStage& b, const std::string& name_b,
                               const TableComparisonOptions& options = {});
// Two tables of one column each, or of columns with the same stages: those that both have, tasks as
// "MID ARC-Easy". bad_input: no stage in common, several runs in one table.
Result<TableComparison> compare_tables(const ReportedTable& a, const ReportedTable& b,
                                       const TableComparisonOptions& options = {});

// First line in words: which tasks got worse, or that none did, or what can't be told.
std::string headline(const TableComparison& comparison);
std::string comparison_text(const TableComparison& comparison);
Json comparison_json(const TableComparison& comparison);  // schema "npubench.tables/1"

}  // namespace nb
