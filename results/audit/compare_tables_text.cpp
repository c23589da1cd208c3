#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "harness/base/table.hpp"
#include "results/audit/compare_tables.hpp"
#include "results/text/format.hpp"
#include "results/text/narrow_text.hpp"

namespace nb {
namespace {

std::string aggregate_sentence(const AggregateDifference& aggregate) {
  if (!aggregate.a || !aggregate.b)
    return fmt::format("{}: one side lacks tasks of it", aggregate.name);
  return fmt::format("{}: {:.4f} to {:.4f} ({:+.4f}), which says nothing of single tasks",
                     aggregate.name, *aggregate.a, *aggregate.b, *aggregate.b - *aggregate.a);
}

Json optional_number(const std::optional<double>& value) { return value ? Json(*value) : Json(); }

Json interval_json(const std::optional<Interval>& interval) {
  return interval ? Json::array({interval->low, interval->high}) : Json();
}

}  // namespace

std::string headline(const TableComparison& comparison) {
  std::size_t tested = 0;
  double widest = 0;
  std::string of_widest;
  for (const ScoreDifference& task : comparison.tasks) {
    if (!task.p_two_sided) continue;
    ++tested;
    if (task.visible && *task.visible > widest) {
      widest = *task.visible;
      of_widest = task.label;
    }
  }
  const std::string judged = fmt::format("{} of {} tasks tested", tested, comparison.tasks.size());
  switch (comparison.verdict) {
    case TableVerdict::kRegressed:
      return fmt::format("REGRESSED: worse in {}{} ({}, Holm)", fmt::join(comparison.worse, ", "),
                         comparison.better.empty()
                             ? ""
                             : fmt::format("; better in {}", fmt::join(comparison.better, ", ")),
                         judged);
    case TableVerdict::kImproved:
      return fmt::format("IMPROVED: better in {}, significantly worse in none ({}, Holm)",
                         fmt::join(comparison.better, ", "), judged);
    case TableVerdict::kPass:
      return fmt::format(
          "PASS: no task differs significantly ({}, Holm); in {} a change below "
          "{:.4f} stays unseen",
          judged, of_widest, widest);
    case TableVerdict::kCantTell:
      break;
  }
  return comparison.tasks.empty()
             ? "CAN'T TELL: no task is in both tables"
             : "CAN'T TELL: neither a number of items nor a standard error beside the scores";
}

std::string comparison_text(const TableComparison& comparison) {
  std::string text = wrapped(headline(comparison));
  text += wrapped(fmt::format("A: {}", comparison.a)) + wrapped(fmt::format("B: {}", comparison.b));
  text += wrapped(
      "No answers to single items: an unpaired test, which misses what a paired one would see. "
      "Trained apart, models differ by their seeds too.");
  std::vector<NarrowRow> rows;
  for (const ScoreDifference& task : comparison.tasks)
    rows.push_back({{task.label, fmt::format("{:.4f}", task.a), fmt::format("{:.4f}", task.b),
                     fmt::format("{:+.4f}", task.difference),
                     task.interval95 ? fmt::format("[{:+.4f}, {:+.4f}]", task.interval95->low,
                                                   task.interval95->high)
                                     : "",
                     task.z ? fmt::format("{:+.2f}", *task.z) : "",
                     task.p_adjusted ? p_text(*task.p_adjusted) : "not tested"},
                    ""});
  if (!rows.empty())
    text += "\n" + narrow_table({"task", "A", "B", "B - A", "95 %", "z", "p (Holm)"}, rows);
  if (!comparison.aggregates.empty()) text += "\n";
  for (const AggregateDifference& aggregate : comparison.aggregates)
    text += wrapped(aggregate_sentence(aggregate));
  if (!comparison.only_a.empty())
    text += wrapped(fmt::format("Only in A: {}", fmt::join(comparison.only_a, ", ")));
  if (!comparison.only_b.empty())
    text += wrapped(fmt::format("Only in B: {}", fmt::join(comparison.only_b, ", ")));
  return text;
}

Json comparison_json(const TableComparison& comparison) {
  Json tasks = Json::array();
  for (const ScoreDifference& task : comparison.tasks) {
    const char* test = task.test == ScoreTest::kProportions      ? "two_proportions"
                       : task.test == ScoreTest::kStandardErrors ? "standard_errors"
                                                                 : "none";
    tasks.push_back({{"task", task.label},
                     {"a", task.a},
                     {"b", task.b},
                     {"difference", task.difference},
                     {"test", test},
                     {"z", optional_number(task.z)},
                     {"p", optional_number(task.p_two_sided)},
                     {"p_holm", optional_number(task.p_adjusted)},
                     {"interval95", interval_json(task.interval95)},
                     {"visible80", optional_number(task.visible)}});
  }
  Json aggregates = Json::array();
  for (const AggregateDifference& aggregate : comparison.aggregates)
    aggregates.push_back({{"name", aggregate.name},
                          {"a", optional_number(aggregate.a)},
                          {"b", optional_number(aggregate.b)}});
  return {{"schema", "npubench.tables/1"},
          {"a", comparison.a},
          {"b", comparison.b},
          {"verdict", std::string(name(comparison.verdict))},
          {"headline", headline(comparison)},
          {"worse", comparison.worse},
          {"better", comparison.better},
          {"tasks", std::move(tasks)},
          {"aggregates", std::move(aggregates)},
          {"only_a", comparison.only_a},
          {"only_b", comparison.only_b}};
}

}  // namespace nb
