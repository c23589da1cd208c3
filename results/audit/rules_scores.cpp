// Rules on scores: A01 aggregates, A02 granularity, A03 below chance, A15 task sets, A21 sizes, A22
// estimates of CORE.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "harness/base/portable_math.hpp"
#include "harness/base/table.hpp"
#include "results/audit/aggregates.hpp"
#include "results/audit/audit.hpp"
#include "results/audit/grim.hpp"
#include "results/audit/known_tasks.hpp"

namespace nb {
namespace {

constexpr std::int64_t kNoPower = 10000;  // with four digits every value is a share of that many
constexpr double kFarBelow = -3;          // standard errors

const Aggregate* named(const std::vector<Aggregate>& all, std::string_view wanted) {
  const auto found =
      std::ranges::find_if(all, [&](const Aggregate& a) { return a.name == wanted; });
  return found == all.end() ? nullptr : &*found;
}

double allowed(const Aggregate& aggregate, const ReportedCell& reported) {
  constexpr double kOfFp32 = 1e-6;
  return aggregate.rounding + reported.score.half_unit + kOfFp32;
}

bool agrees(const Aggregate* aggregate, const ReportedCell& reported) {
  return aggregate != nullptr && aggregate->value &&
         std::abs(*aggregate->value - reported.score.value) <= allowed(*aggregate, reported);
}

// Right answers of SpellingBee, a sixth task that nanochat's summary leaves out, with which the
// five shown give the reported ChatCORE; nothing where none does.
std::optional<std::int64_t> hidden_sixth(const Aggregate& five, const ReportedCell& reported) {
  const KnownTask& spelling = *find_known_task("spellingbee");
  const double share = 6 * reported.score.value - 5 * *five.value;
  const PrintedShare printed{share, 6 * reported.score.half_unit + 5 * five.rounding, 0};
  if (share < -printed.half_unit || share > 1 + printed.half_unit) return std::nullopt;
  const auto answers = right_answers(printed, spelling.items);
  if (answers.empty()) return std::nullopt;
  return answers.front();
}

// Mean of the centred scores that are there, for a CORE of other tasks.
double mean_of_shown(const ReportedStage& stage, double& rounding) {
  double sum = 0, count = 0;
  rounding = 0;
  for (const ReportedCell& cell : stage.cells) {
    if (cell.scale != Scale::kCentred) continue;
    sum += cell.score.value;
    rounding += cell.score.half_unit;
    ++count;
  }
  if (count > 0) rounding /= count;
  return count > 0 ? sum / count : NAN;
}

void check_aggregate(const ReportedRun& run, const ReportedStage& stage,
                     const ReportedCell& reported, const std::vector<Aggregate>& all,
                     std::string_view plain, std::string_view other,
                     std::vector<Finding>& findings) {
  const Aggregate* first = named(all, plain);
  const Aggregate* second = named(all, other);
  Finding finding{"A01", Severity::kInfo, run.name, cell_name(stage, reported.label), "",
                  "",    reported.line};
  if (agrees(first, reported) || agrees(second, reported)) return;
  if (second != nullptr && second->value && plain == kChatCoreCell) first = second;
  if (first == nullptr || !first->value) {
    const bool is_core = plain == kCoreCell;
    double rounding = 0;
    const double shown = is_core ? mean_of_shown(stage, rounding) : NAN;
    if (std::abs(shown - reported.score.value) <= rounding + reported.score.half_unit + 1e-9) {
      finding.found = "is the mean of other tasks than CORE's 22";
      finding.needed = "compare it with nothing but the same tasks";
    } else if (first == nullptr) {
      finding.found = "can't be recomputed: none of its tasks is reported";
      finding.needed = "report the accuracy of every task beside it";
    } else {
      finding.found = fmt::format("can't be recomputed: {}", missing_text(*first));
      finding.needed = "report the accuracy of every task beside it";
    }
    findings.push_back(std::move(finding));
    return;
  }
  if (plain == kChatCoreCell && stage.find("spellingbee") == nullptr) {
    if (const auto right = hidden_sixth(*first, reported)) {
      finding.found = fmt::format(
          "follows from the five tasks shown only with SpellingBee {}/256 as a sixth, which is not "
          "shown",
          *right);
      finding.needed = "say which tasks it is the mean of, and show all of them";
      findings.push_back(std::move(finding));
      return;
    }
  }
  finding.severity = Severity::kFail;
  const double difference = reported.score.value - *first->value;
  finding.found = fmt::format("{} reported, {:.4f} recomputed from its {} tasks",
                              reported.score.text, *first->value, first->tasks);
  if (first->standard_error && *first->standard_error > 0)
    finding.found += fmt::format(
        " ({:+.4f}, {:.1f} standard errors; rounding moves it by {:.5f} at "
        "most)",
        difference, std::abs(difference) / *first->standard_error, allowed(*first, reported));
  finding.needed = fmt::format(
      "the mean of (accuracy - guessing) / (1 - guessing) of the scores "
      "shown, {:.4f}, or the tasks and the formula that give {}",
      *first->value, reported.score.text);
  findings.push_back(std::move(finding));
}

}  // namespace

void check_aggregates(const ReportedTable& table, std::vector<Finding>& findings) {
  each_stage(table, [&](const ReportedRun& run, const ReportedStage& stage) {
    const std::vector<Aggregate> all = aggregates_of(stage);
    if (const ReportedCell* core = stage.find(kCoreCell))
      check_aggregate(run, stage, *core, all, kCoreCell, kCoreCell, findings);
    if (const ReportedCell* second = stage.find("core_v2"))
      check_aggregate(run, stage, *second, all, "core_v2", "core_v2", findings);
    if (const ReportedCell* chat = stage.find(kChatCoreCell))
      check_aggregate(run, stage, *chat, all, kChatCoreCell, "chatcore_with_spellingbee", findings);
  });
}

void check_granularity(const ReportedTable& table, std::vector<Finding>& findings) {
  each_stage(table, [&](const ReportedRun& run, const ReportedStage& stage) {
    if (const std::int64_t limit = common_limit(stage); limit > 0) {
      findings.push_back(
          {"A02", Severity::kInfo, run.name, cell_name(stage, "scores"),
           fmt::format("are shares of {} items per task, not of the full test sets", limit),
           "say the number of items beside every score", 0});
      return;
    }
    for (const ReportedCell& cell : stage.cells) {
      if (!cell.counts_items || !cell.n || *cell.n >= kNoPower ||
          (cell.scale != Scale::kAccuracy && cell.scale != Scale::kCentred))
        continue;
      const PrintedShare share = share_of(cell);
      if (!right_answers(share, *cell.n).empty()) continue;
      const double wanted = wanted_answers(share, *cell.n);
      const double below = std::floor(wanted) / static_cast<double>(*cell.n);
      const double above = std::ceil(wanted) / static_cast<double>(*cell.n);
      const auto centred = [&](double accuracy) {
        return (accuracy - share.guessing) / (1 - share.guessing);
      };
      const auto sizes = possible_sizes(share, *cell.n);
      findings.push_back(
          {"A02", Severity::kFail, run.name, cell_name(stage, cell.label),
           fmt::format("{} is not reproducible as k/{}: {:.3f} right answers", cell.score.text,
                       with_commas(*cell.n), wanted),
           fmt::format(
               "{:.{}f} or {:.{}f}; {}", centred(below), std::max(cell.score.decimals, 4),
               centred(above), std::max(cell.score.decimals, 4),
               sizes.empty()
                   ? fmt::format("no other size up to {} gives it either", with_commas(*cell.n))
                   : fmt::format("sizes that give it: {}{}", fmt::join(sizes, ", "),
                                 sizes.size() == 8 ? ", …" : "")),
           cell.line});
    }
  });
}

void check_below_chance(const ReportedTable& table, std::vector<Finding>& findings) {
  each_stage(table, [&](const ReportedRun& run, const ReportedStage& stage) {
    const std::int64_t limit = common_limit(stage);
    for (const ReportedCell& cell : stage.cells) {
      const KnownTask* task = find_known_task(cell.task);
      if (task == nullptr || task->worst_constant <= 0 || !cell.n || !cell.counts_items) continue;
      const double items = static_cast<double>(limit > 0 ? std::min(limit, *cell.n) : *cell.n);
      const auto errors_from = [&](double share) {
        return (accuracy_of(cell) - share) / pm::sqrt(share * (1 - share) / items);
      };
      const double from_guessing = errors_from(task->guessing);
      const double from_worst = errors_from(task->worst_constant);
      if (from_guessing >= kFarBelow || from_worst >= kFarBelow) continue;
      findings.push_back(
          {"A03", Severity::kFail, run.name, cell_name(stage, cell.label),
           fmt::format(
               "{} is {:.1f} standard errors below guessing ({}), and {:.1f} below the worst "
               "answer that is always the same ({:.4f})",
               cell.score.text, -from_guessing, task->guessing, -from_worst, task->worst_constant),
           "look for a wrong letter map, shifted labels or answers of another task: guessing "
           "scores "
           "more",
           cell.line});
    }
  });
}

void check_task_sets(const ReportedTable& table, std::vector<Finding>& findings) {
  struct Seen {
    const ReportedRun* run;
    std::string where;
    std::size_t tasks;
  };
  std::vector<Seen> seen;
  each_stage(table, [&](const ReportedRun& run, const ReportedStage& stage) {
    const ReportedCell* reported = stage.find(kChatCoreCell);
    if (reported == nullptr) return;
    const std::vector<Aggregate> all = aggregates_of(stage);
    std::size_t tasks = 0;
    if (agrees(named(all, "chatcore"), *reported))
      tasks = 5;
    else if (agrees(named(all, "chatcore_with_spellingbee"), *reported))
      tasks = 6;
    else if (const Aggregate* five = named(all, "chatcore"); five != nullptr && five->value &&
                                                             stage.find("spellingbee") == nullptr &&
                                                             hidden_sixth(*five, *reported))
      tasks = 6;
    if (tasks > 0) seen.push_back({&run, cell_name(stage, reported->label), tasks});
  });
  const auto differs =
      std::ranges::find_if(seen, [&](const Seen& one) { return one.tasks != seen.front().tasks; });
  if (differs == seen.end()) return;
  const Seen& first = seen.front();
  const std::string runs = first.run == differs->run
                               ? first.run->name
                               : fmt::format("{}, {}", first.run->name, differs->run->name);
  findings.push_back(
      {"A15", Severity::kFail, runs, first.where,
       fmt::format("is a mean of {} tasks, {} of {} one of {}", first.tasks, differs->where,
                   differs->run->name, differs->tasks),
       "compare ChatCORE over the same tasks only: SpellingBee alone moves it by about "
       "a sixth",
       0});
}

void check_sizes(const ReportedTable& table, std::vector<Finding>& findings) {
  for (const ReportedRun& run : table.runs) {
    std::vector<std::string> unknown, assumed;
    for (const ReportedStage& stage : run.stages)
      for (const ReportedCell& cell : stage.cells) {
        if (cell.scale != Scale::kAccuracy && cell.scale != Scale::kCentred) continue;
        if (!cell.n && !cell.standard_error)
          unknown.push_back(cell_name(stage, cell.label));
        else if (cell.is_n_assumed)
          assumed.push_back(cell_name(stage, cell.label));
      }
    const auto shown = [](const std::vector<std::string>& names) {
      return names.size() <= 3
                 ? fmt::format("{}", fmt::join(names, ", "))
                 : fmt::format("{}, {} and {} more", names[0], names[1], names.size() - 2);
    };
    if (!unknown.empty())
      findings.push_back({"A21", Severity::kInfo, run.name, shown(unknown),
                          "the number of items is not said", "a column n", 0});
    if (!assumed.empty())
      findings.push_back({"A21", Severity::kInfo, run.name, shown(assumed),
                          "the number of items is not said; taken for the full test set",
                          "a column n", 0});
  }
}

void check_estimates(const ReportedTable& table, std::vector<Finding>& findings) {
  struct Seen {
    const ReportedRun* run;
    const ReportedCell* cell;
    std::int64_t limit;  // items per task; 0: all
  };
  std::vector<Seen> full, cut;
  each_stage(table, [&](const ReportedRun& run, const ReportedStage& stage) {
    const ReportedCell* core = stage.find(kCoreCell);
    const ReportedCell* estimate = stage.find(kCoreEstimateCell);
    // Of one run both may stand in a report; what would be compared is CORE where it is there.
    if (core == nullptr) {
      if (estimate != nullptr) cut.push_back({&run, estimate, 500});
      return;
    }
    const std::int64_t limit = common_limit(stage);
    (limit > 0 ? cut : full).push_back({&run, core, limit});
    const Printed* shown = core->repeated ? &*core->repeated : nullptr;
    if (shown != nullptr && estimate != nullptr &&
        std::abs(shown->value - core->score.value) > core->score.half_unit + shown->half_unit &&
        std::abs(shown->value - estimate->score.value) <=
            estimate->score.half_unit + shown->half_unit)
      findings.push_back({"A22", Severity::kFail, run.name, cell_name(stage, "CORE"),
                          fmt::format("the summary shows {}, the estimate during training, not {}",
                                      shown->text, core->score.text),
                          "show the full evaluation", core->line});
  });
  if (full.empty() || cut.empty()) return;
  for (const Seen& one : cut)
    if (one.run != full.front().run)
      findings.push_back(
          {"A22", Severity::kFail, fmt::format("{}, {}", full.front().run->name, one.run->name),
           "CORE",
           fmt::format("{} is measured on {} items per task at most, {} on all of them",
                       one.cell->score.text, one.limit, full.front().cell->score.text),
           "full evaluations on both sides: the estimate was .0079 higher on average of 12 runs, "
           "higher in all of them",
           one.cell->line});
}

}  // namespace nb
