// Training logs: the curves that results/training reads, and the numbers about the training that
// the rules look for.
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "harness/base/ascii.hpp"
#include "results/audit/fact_names.hpp"
#include "results/audit/read_parts.hpp"
#include "results/audit/read_table.hpp"
#include "results/messages/sentences.hpp"
#include "results/stats/stats.hpp"
#include "results/store/curve_columns.hpp"
#include "results/training/log_lines.hpp"

namespace nb {
namespace {

// Facts that are the middle, or the largest, of a column.
struct MeasuredColumn {
  std::string_view fact, column;
  double divisor;  // the fact's unit in units of the column
  int decimals;
};
constexpr auto kMiddles = std::to_array<MeasuredColumn>({
    {fact::kRate, column::kThroughput, 1, 0},
    {fact::kStepTime, column::kStepTime, 1e6, 2},
    {fact::kMfu, column::kMfu, 1, 4},
});
constexpr MeasuredColumn kMemory = {fact::kMemory, column::kMemory, 1, 0};

Printed printed_of(double value, int decimals) {
  Printed printed;
  printed.value = value;
  printed.decimals = decimals;
  printed.text = fmt::format("{:.{}f}", value, decimals);
  printed.half_unit = 0;  // of many steps
  return printed;
}

std::vector<double> stated(const CurveColumn& column) {
  std::vector<double> values;
  for (const double value : column.values)
    if (std::isfinite(value)) values.push_back(value);
  return values;
}

// The first ten steps compile and warm up, unless there are no others.
double middle(std::vector<double> values) {
  constexpr std::size_t kWarmUp = 10;
  if (values.size() > kWarmUp + 2)
    values.erase(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(kWarmUp));
  return median(std::move(values));
}

void add_measured(ReportedStage& stage) {
  const auto add = [&](const MeasuredColumn& measured, auto&& value_of) {
    const CurveColumn* column = stage.curve.find(measured.column);
    if (column == nullptr || stage.facts.contains(std::string(measured.fact))) return;
    std::vector<double> values = stated(*column);
    if (values.empty()) return;
    stage.facts[std::string(measured.fact)] =
        printed_of(value_of(std::move(values)) / measured.divisor, measured.decimals);
  };
  for (const MeasuredColumn& measured : kMiddles) add(measured, middle);
  add(kMemory, [](std::vector<double> values) { return std::ranges::max(values); });
}

// nanochat's lines beside its steps, "Peak memory usage: 49876.12MiB", of the first training.
// What came out as nan goes to `ignored`.
Result<void> add_card_lines(const LogText& log, ReportedStage& stage,
                            std::vector<Sentence>& ignored) {
  Result<void> result;
  std::int64_t last_step = -1;
  bool ended = false;
  for_each_log_line(log, [&](std::string_view line, std::size_t number) {
    const std::string_view content = trimmed(line);
    if (!result || ended) return;
    if (content.starts_with("step ")) {
      const auto step = leading_integer(content.substr(5)).value_or(-1);
      ended = step == 0 && last_step > 0;  // the next script
      last_step = std::max(last_step, step);
      return;
    }
    const std::size_t colon = content.rfind(": ");
    if (colon == content.npos) return;
    const FactName* name = fact_of_card(trimmed(content.substr(0, colon)));
    if (name == nullptr) return;
    const auto number_of_line = leading_number(content.substr(colon + 2));
    if (number_of_line && !std::isfinite(*number_of_line)) {
      ignored.push_back(message("table.not_finite", name->name));
      return;
    }
    auto fact = parse_fact(*name, trimmed(content.substr(colon + 2)),
                           fmt::format("{}:{}", log.where, number));
    if (fact)
      stage.facts[std::string(name->name)] = std::move(*fact);
    else
      result = tl::unexpected(fact.error());
  });
  return result;
}

}  // namespace

bool looks_like_training_log(const LogText& log) { return training_format_of(log) != nullptr; }

Result<ReportedTable> parse_training_log(const LogText& log) {
  const TrainingFormat* format = training_format_of(log);
  if (format == nullptr) return bad_input(log.where + ": no training log of a known trainer");
  NB_TRY(TrainingLog read, format->read(log));
  ReportedTable table;
  table.name = log.where;
  table.trainer = format->trainer;
  table.ignored = std::move(read.ignored);
  for (Training& training : read.trainings) {
    if (training.curve.empty()) continue;
    const std::string run = training.name.empty() ? log.where : training.name;
    ReportedStage& stage = stage_of(table, run, training.stage);
    stage.curve = std::move(training.curve);
    for (const auto& [name, value] : training.stated) {
      NB_TRY(stage.facts[name], parse_printed(value, log.where));
    }
  }
  if (table.runs.empty()) return bad_input(log.where + ": a training log without steps");
  if (table.trainer == "nanochat")
    NB_TRY_VOID(add_card_lines(log, table.runs.front().stages.front(), table.ignored));
  for (ReportedRun& run : table.runs)
    for (ReportedStage& stage : run.stages) add_measured(stage);
  return table;
}

}  // namespace nb
