#include "results/audit/to_foreign.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <optional>

#include "harness/base/ascii.hpp"
#include "results/audit/aggregates.hpp"
#include "results/audit/fact_names.hpp"
#include "results/audit/read_parts.hpp"
#include "results/foreign/metric_kinds.hpp"
#include "results/messages/sentences.hpp"
#include "results/store/metric_names.hpp"

namespace nb {
namespace {

// Facts that were measured, under the names of our own metrics; the others are how the run was
// made.
struct Measured {
  std::string_view fact;
  const char* metric;
  const char* unit;
  Direction direction;
  Clock clock;
  double factor;  // our unit in units of the fact
};
constexpr auto kMeasured = std::to_array<Measured>({
    {fact::kValBpb, metric::kValBpb, "bit/byte", Direction::kLower, Clock::kNone, 1},
    {fact::kMinValBpb, "min_val_bpb", "bit/byte", Direction::kLower, Clock::kNone, 1},
    {fact::kRate, metric::kThroughput, "tok/s", Direction::kHigher, Clock::kDevice, 1},
    {fact::kStepTime, metric::kStepTime, "ns", Direction::kLower, Clock::kDevice, 1e6},
    {fact::kMemory, metric::kPeakMemory, "byte", Direction::kLower, Clock::kDevice, 1},
    {fact::kMfu, metric::kMfu, "1", Direction::kHigher, Clock::kDevice, 1},
    {fact::kMinutes, "training_time_ns", "ns", Direction::kLower, Clock::kDevice, 6e10},
});

const Measured* measured(std::string_view name) {
  const auto found =
      std::ranges::find_if(kMeasured, [&](const Measured& m) { return m.fact == name; });
  return found == kMeasured.end() ? nullptr : &*found;
}

void add_facts(const Facts& facts, ForeignRun& run) {
  for (const auto& [name, value] : facts) {
    const Measured* known = measured(name);
    if (known == nullptr) {
      run.provenance[name] = value.text;
      continue;
    }
    if (value.value == 0) continue;  // nanochat's way of saying that it was not measured
    Metric metric;
    metric.name = known->metric;
    metric.value = value.value * known->factor;
    metric.unit = known->unit;
    metric.direction = known->direction;
    metric.clock = known->clock;
    run.metrics.push_back(std::move(metric));
  }
}

// The task without what tells two metrics of one task apart: "gsm8k:strict-match/exact_match".
// Empty: the label is the metric itself, of no task.
std::string task_of(const ReportedCell& cell) {
  if (cell.metric.empty()) return cell.task;
  if (cell.task == cell.metric) return {};
  std::string task = cell.task;
  // lm-eval's JSON has "gsm8k/exact_match,strict-match".
  for (const std::string& end : {"/" + cell.metric, "/" + cell.metric + "," + cell.filter})
    if (task.ends_with(end)) task.erase(task.size() - end.size());
  if (!cell.filter.empty() && task.ends_with(":" + cell.filter))
    task.erase(task.size() - cell.filter.size() - 1);
  return task;
}

ForeignSeries series_of(const ReportedCell& cell) {
  ForeignSeries series;
  const bool is_task = cell.scale == Scale::kAccuracy || cell.scale == Scale::kCentred;
  const std::string metric = !cell.metric.empty() && cell.scale != Scale::kComposite ? cell.metric
                             : is_task ? metric::kAccuracy
                                       : "reported";
  series.name = {task_of(cell), cell.filter == "none" ? "" : cell.filter, metric};
  series.direction = cell.direction;
  if (cell.metric.empty() && cell.scale != Scale::kOther) series.direction = Direction::kHigher;
  settle_metric(series);
  const MetricKind* kind = metric_kind(metric);
  // Composites follow from the tasks and are no test of their own; counts are shown.
  series.primary = is_task || (cell.scale == Scale::kOther && !cell.metric.empty() &&
                               (kind == nullptr || kind->quantity != Quantity::kCount));
  series.reported = accuracy_of(cell);
  series.reported_stderr = cell.standard_error;
  series.reported_n = cell.n.value_or(0);
  if (!cell.shots.empty()) series.must_match["shots"] = cell.shots;
  if (!cell.version.empty()) series.must_match["version"] = cell.version;
  return series;
}

// Times and rates of the run are measured by the device's clock and are no scores.
std::optional<Metric> measured_of(const ReportedCell& cell) {
  const MetricKind* kind = cell.metric.empty() ? nullptr : metric_kind(cell.metric);
  if (kind == nullptr || cell.task != cell.metric) return std::nullopt;
  if (kind->quantity != Quantity::kTime && kind->quantity != Quantity::kSeconds &&
      kind->quantity != Quantity::kMilliseconds && kind->quantity != Quantity::kPerSecond)
    return std::nullopt;
  Metric metric;
  metric.name = cell.metric;
  metric.value = cell.score.value;
  metric.unit = unit_of(kind->quantity);
  metric.direction = cell.direction.value_or(kind->direction);
  metric.clock = Clock::kDevice;
  return metric;
}

}  // namespace

ForeignResults foreign_of(const ReportedTable& table) {
  ForeignResults results;
  results.path = table.name;
  results.files.push_back({table.name, "table of reported results"});
  results.ignored = table.ignored;
  for (const ReportedRun& from : table.runs) {
    // A run whose numbers stand on no stage is one all the same.
    const std::vector<ReportedStage> no_stage(from.facts.empty() ? 0 : 1);
    for (const ReportedStage& stage : from.stages.empty() ? no_stage : from.stages) {
      if (stage.cells.empty() && stage.facts.empty() && stage.curve.empty() && !from.stages.empty())
        continue;
      ForeignRun run;
      run.harness = table.trainer.empty() ? "reported table" : table.trainer;
      run.curve = stage.curve;
      run.label = std::filesystem::path(table.name).stem().string();
      if (from.name != table.name) run.model = from.name;
      run.stage = lowered(stage.name);
      run.files = {table.name};
      for (const Settings* settings : {&from.settings, &stage.settings})
        for (const auto& [name, value] : *settings) run.provenance[name] = value;
      if (!from.device.empty()) run.provenance["device"] = from.device;
      if (!from.source.empty()) run.provenance["source"] = from.source;
      if (!stage.timestamp.empty()) run.provenance["date"] = stage.timestamp;
      add_facts(from.facts, run);
      add_facts(stage.facts, run);
      bool has_assumed = false;
      for (const ReportedCell& cell : stage.cells) {
        if (auto metric = measured_of(cell))
          run.metrics.push_back(std::move(*metric));
        else
          run.series.push_back(series_of(cell));
        has_assumed = has_assumed || cell.is_n_assumed;
      }
      if (from.manifest_hash.empty()) run.notes.push_back(message("import.claims"));
      if (has_assumed) run.notes.push_back(message("import.assumed_n"));
      results.runs.push_back(std::move(run));
    }
  }
  return results;
}

}  // namespace nb
