// Rules on how numbers are printed: A24 lines that stand twice, A25 standard errors beside n, A26
// losses under an accuracy's name.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <optional>

#include "harness/base/ascii.hpp"
#include "harness/base/portable_math.hpp"
#include "harness/base/table.hpp"
#include "results/audit/aggregates.hpp"
#include "results/audit/audit.hpp"
#include "results/audit/known_tasks.hpp"
#include "results/foreign/metric_kinds.hpp"

namespace nb {
namespace {

// Of the mean of n scores 0 or 1, each item asked once.
std::optional<double> expected_error(const ReportedCell& cell) {
  if (!cell.n || *cell.n < 2 || !cell.counts_items) return std::nullopt;
  if (cell.scale != Scale::kAccuracy && cell.scale != Scale::kCentred) return std::nullopt;
  const double share = accuracy_of(cell);
  if (share <= 0 || share >= 1) return std::nullopt;
  double error = pm::sqrt(share * (1 - share) / static_cast<double>(*cell.n - 1));
  if (cell.scale == Scale::kCentred) {
    const KnownTask* task = find_known_task(cell.task);
    if (task == nullptr) return std::nullopt;
    error /= 1 - task->guessing;
  }
  return error;
}

struct Stated {
  double error = 0;
  std::string text;
};
std::optional<Stated> stated_error(const ReportedCell& cell) {
  constexpr double kOf95 = 1.959963984540054;
  if (cell.standard_error && *cell.standard_error > 0)
    return Stated{*cell.standard_error, fmt::format("± {:.4g}", *cell.standard_error)};
  if (!cell.interval || cell.interval->high <= cell.interval->low) return std::nullopt;
  return Stated{(cell.interval->high - cell.interval->low) / 2 / kOf95,
                fmt::format("[{:.4g}, {:.4g}]", cell.interval->low, cell.interval->high)};
}

// What a name says in whole words: "train/loss" is a loss, "lossless" none.
bool names_a_loss(std::string_view label) {
  constexpr auto kLosses = std::to_array<std::string_view>(
      {"loss", "losses", "nll", "bpb", "perplexity", "ppl", "wer", "cer", "rmse", "mae"});
  std::string word;
  const auto is_loss = [&] { return std::ranges::find(kLosses, word) != kLosses.end(); };
  for (const char c : label) {
    if (std::isalpha(static_cast<unsigned char>(c)) != 0) {
      word += lower_case(c);
      continue;
    }
    if (is_loss()) return true;
    word.clear();
  }
  return is_loss();
}

}  // namespace

void check_repetitions(const ReportedTable& table, std::vector<Finding>& findings) {
  each_stage(table, [&](const ReportedRun& run, const ReportedStage& stage) {
    for (const Repetition& twice : stage.repetitions) {
      const bool is_equal = std::abs(twice.first.value - twice.again.value) <=
                            std::min(twice.first.half_unit, twice.again.half_unit);
      const Severity severity = is_equal                ? Severity::kInfo
                                : twice.is_same_section ? Severity::kFail
                                                        : Severity::kWarn;
      findings.push_back(
          {"A24", severity, run.name, cell_name(stage, twice.label),
           is_equal ? fmt::format("stands twice: {} in line {} again", twice.again.text, twice.line)
                    : fmt::format("stands twice: {} in line {}, {} in line {}; the first is judged",
                                  twice.first.text, twice.first_line, twice.again.text, twice.line),
           is_equal ? "one line for one number"
                    : "the line that belongs to this run, without the other",
           twice.line});
    }
  });
}

void check_errors(const ReportedTable& table, std::vector<Finding>& findings) {
  // Answers in clusters (passages, repeats of a question) make the error of n items a few times
  // larger (Miller, Adding Error Bars to Evals, 2024: over three times); scores between 0 and 1
  // make it smaller. Beyond these it is of another number of items, or on another scale.
  constexpr double kClustered = 3, kImpossible = 10, kFractional = 1. / 3;
  each_stage(table, [&](const ReportedRun& run, const ReportedStage& stage) {
    for (const ReportedCell& cell : stage.cells) {
      const auto expected = expected_error(cell);
      const auto stated = stated_error(cell);
      if (!expected || !stated) continue;
      const double ratio = stated->error / *expected;
      if (ratio <= kClustered && ratio >= kFractional) continue;
      // The error falls as 1/sqrt(n - 1).
      const auto fitting = 1 + std::llround(static_cast<double>(*cell.n - 1) / (ratio * ratio));
      findings.push_back(
          {"A25", ratio > kImpossible ? Severity::kFail : Severity::kWarn, run.name,
           cell_name(stage, cell.label),
           fmt::format("{} beside {} is {:.3g} times the standard error of {} items, {:.2g}",
                       stated->text, cell.score.text, ratio, with_commas(*cell.n), *expected),
           fmt::format("{:.2g}, or the number of items that gives it (about {}){}", *expected,
                       with_commas(fitting),
                       ratio > 1 ? "; where answers come in clusters, their number" : ""),
           cell.line});
    }
  });
}

void check_losses(const ReportedTable& table, std::vector<Finding>& findings) {
  each_stage(table, [&](const ReportedRun& run, const ReportedStage& stage) {
    const bool is_column_of_losses = names_a_loss(stage.name) || names_a_loss(run.name);
    std::vector<std::string> losses;
    std::size_t line = 0;
    for (const ReportedCell& cell : stage.cells) {
      const MetricKind* kind = metric_kind(cell.metric.empty() ? cell.label : cell.metric);
      const bool is_loss =
          kind != nullptr ? kind->direction == Direction::kLower : names_a_loss(cell.label);
      const bool is_accuracy = cell.scale == Scale::kAccuracy || cell.is_called_accuracy;
      if (!is_accuracy || find_known_task(cell.task) != nullptr) continue;
      if (!is_column_of_losses && !is_loss) continue;
      if (line == 0) line = cell.line;
      losses.push_back(fmt::format("{} {}", cell.label, cell.score.text));
    }
    if (losses.empty()) return;
    constexpr std::size_t kShown = 4;
    const std::size_t more = losses.size() > kShown ? losses.size() - kShown : 0;
    losses.resize(losses.size() - more);
    findings.push_back(
        {"A26", Severity::kWarn, run.name, stage.name,
         fmt::format("losses and error rates under an accuracy's name: {}{}",
                     fmt::join(losses, ", "), more > 0 ? fmt::format(" and {} more", more) : ""),
         "a column that says what they are: lower is better, and none is a share of "
         "right answers",
         line});
  });
}

}  // namespace nb
