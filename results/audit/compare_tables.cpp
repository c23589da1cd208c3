#include "results/audit/compare_tables.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "harness/base/portable_math.hpp"
#include "results/stats/stats_unpaired.hpp"

namespace nb {
namespace {

constexpr double kPower = .8416212335729143;  // quantile of 80 %

bool is_share(const ReportedCell& cell) {
  return cell.n && cell.counts_items &&
         (cell.scale == Scale::kAccuracy || cell.scale == Scale::kCentred);
}

// Standard error of an accuracy; empty: nothing says it.
std::optional<double> error_of(const ReportedCell& cell) {
  if (cell.standard_error) return cell.standard_error;
  if (!cell.n || cell.scale == Scale::kOther || cell.scale == Scale::kComposite)
    return std::nullopt;
  const double accuracy = accuracy_of(cell);
  return pm::sqrt(accuracy * (1 - accuracy) / static_cast<double>(*cell.n));
}

std::vector<const ReportedStage*> scored_stages(const ReportedTable& table) {
  std::vector<const ReportedStage*> stages;
  for (const ReportedStage& stage : table.runs.front().stages)
    if (!stage.cells.empty()) stages.push_back(&stage);
  return stages;
}

bool is_task(const ReportedCell& cell) {
  return cell.scale == Scale::kAccuracy || cell.scale == Scale::kCentred;
}

void add_tasks(TableComparison& comparison, const ReportedStage& a, const ReportedStage& b,
               const std::string& prefix) {
  for (const ReportedCell& cell : a.cells) {
    if (!is_task(cell)) continue;
    const ReportedCell* other = b.find(cell.task);
    if (other == nullptr) {
      comparison.only_a.push_back(prefix + cell.label);
      continue;
    }
    comparison.tasks.push_back(score_difference(cell, *other));
    comparison.tasks.back().label = prefix + cell.label;
  }
  for (const ReportedCell& cell : b.cells)
    if (is_task(cell) && a.find(cell.task) == nullptr)
      comparison.only_b.push_back(prefix + cell.label);
  const std::vector<Aggregate> of_a = aggregates_of(a), of_b = aggregates_of(b);
  for (const Aggregate& aggregate : of_a) {
    const auto other = std::ranges::find_if(
        of_b, [&](const Aggregate& candidate) { return candidate.name == aggregate.name; });
    if (other != of_b.end() && (aggregate.value || other->value))
      comparison.aggregates.push_back({prefix + aggregate.name, aggregate.value, other->value});
  }
}

void judge(TableComparison& comparison, double alpha) {
  std::vector<double> p;
  for (const ScoreDifference& task : comparison.tasks)
    if (task.p_two_sided) p.push_back(*task.p_two_sided);
  if (p.empty()) return;
  const std::vector<double> adjusted = holm(p);
  std::size_t at = 0;
  for (ScoreDifference& task : comparison.tasks) {
    if (!task.p_two_sided) continue;
    task.p_adjusted = adjusted[at++];
    if (*task.p_adjusted > alpha) continue;
    (task.difference < 0 ? comparison.worse : comparison.better).push_back(task.label);
  }
  comparison.verdict = !comparison.worse.empty()    ? TableVerdict::kRegressed
                       : !comparison.better.empty() ? TableVerdict::kImproved
                                                    : TableVerdict::kPass;
}

}  // namespace

ScoreDifference score_difference(const ReportedCell& a, const ReportedCell& b) {
  ScoreDifference result;
  result.task = a.task;
  result.label = a.label;
  result.a = accuracy_of(a);
  result.b = accuracy_of(b);
  result.difference = result.b - result.a;
  const auto error_a = error_of(a), error_b = error_of(b);
  if (!error_a || !error_b) return result;
  if (is_share(a) && is_share(b)) {
    const UnpairedTest test = unpaired_shares(result.a, *a.n, result.b, *b.n);
    result.test = ScoreTest::kProportions;
    result.p_two_sided = test.p_two_sided;
    if (test.z != 0 || test.difference == 0) result.z = test.z;
    result.interval95 = test.interval95;
    // For equally good sides, of their own numbers of items.
    const auto n_a = static_cast<double>(*a.n), n_b = static_cast<double>(*b.n);
    const double pooled = (result.a * n_a + result.b * n_b) / (n_a + n_b);
    result.visible = (kZ95 + kPower) * pm::sqrt(pooled * (1 - pooled) * (1 / n_a + 1 / n_b));
    return result;
  }
  const double spread = pm::sqrt(*error_a * *error_a + *error_b * *error_b);
  result.test = ScoreTest::kStandardErrors;
  if (spread > 0) {
    result.z = result.difference / spread;
    result.p_two_sided = 2 * pm::normal_cdf(-std::abs(*result.z));
  } else {  // two standard errors of 0: all items alike on both sides
    result.p_two_sided = result.difference == 0 ? 1 : 0;
  }
  result.interval95 =
      Interval{result.difference - kZ95 * spread, result.difference + kZ95 * spread};
  result.visible = (kZ95 + kPower) * spread;
  return result;
}

std::string_view name(TableVerdict verdict) {
  switch (verdict) {
    case TableVerdict::kPass:
      return "PASS";
    case TableVerdict::kRegressed:
      return "REGRESSED";
    case TableVerdict::kImproved:
      return "IMPROVED";
    case TableVerdict::kCantTell:
      return "CAN'T TELL";
  }
  return "";
}

TableComparison compare_stages(const ReportedStage& a, const std::string& name_a,
                               const ReportedStage& b, const std::string& name_b,
                               const TableComparisonOptions& options) {
  TableComparison comparison;
  comparison.a = name_a;
  comparison.b = name_b;
  add_tasks(comparison, a, b, "");
  judge(comparison, options.alpha);
  return comparison;
}

Result<TableComparison> compare_tables(const ReportedTable& a, const ReportedTable& b,
                                       const TableComparisonOptions& options) {
  for (const ReportedTable* table : {&a, &b}) {
    if (table->runs.size() == 1) continue;
    std::vector<std::string> names;
    for (const ReportedRun& run : table->runs) names.push_back(run.name);
    return bad_input(fmt::format("{}: {} runs in one table ({}); name one, as {}/{}", table->name,
                                 names.size(), fmt::join(names, ", "), table->name,
                                 names.empty() ? "RUN" : names.front()));
  }
  const auto of_a = scored_stages(a), of_b = scored_stages(b);
  if (of_a.size() == 1 && of_b.size() == 1)
    return compare_stages(*of_a.front(), a.name, *of_b.front(), b.name, options);
  TableComparison comparison;
  comparison.a = a.name;
  comparison.b = b.name;
  bool has_common = false;
  for (const ReportedStage* stage : of_a) {
    const auto other = std::ranges::find_if(
        of_b, [&](const ReportedStage* candidate) { return candidate->name == stage->name; });
    if (other == of_b.end()) continue;
    has_common = true;
    add_tasks(comparison, *stage, **other, stage->name.empty() ? "" : stage->name + " ");
  }
  if (!has_common) return bad_input(fmt::format("{} and {}: no column in common", a.name, b.name));
  judge(comparison, options.alpha);
  return comparison;
}

}  // namespace nb
