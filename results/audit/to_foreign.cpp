#include "results/audit/to_foreign.hpp"

#include <algorithm>
#include <array>
#include <filesystem>

#include "results/audit/aggregates.hpp"
#include "results/audit/fact_names.hpp"
#include "results/audit/read_parts.hpp"
#include "results/import/metric_kinds.hpp"
#include "results/metric_names.hpp"

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

ForeignSeries series_of(const ReportedCell& cell) {
  ForeignSeries series;
  const bool is_task = cell.scale == Scale::kAccuracy || cell.scale == Scale::kCentred;
  series.name = {cell.task, "", is_task ? metric::kAccuracy : "reported"};
  if (cell.scale != Scale::kOther) series.direction = Direction::kHigher;
  settle_metric(series);
  series.primary = is_task;  // composites follow from the tasks and are no test of their own
  series.reported = accuracy_of(cell);
  series.reported_stderr = cell.standard_error;
  series.reported_n = cell.n.value_or(0);
  return series;
}

}  // namespace

ForeignResults foreign_of(const ReportedTable& table) {
  ForeignResults results;
  results.path = table.name;
  results.files.push_back({table.name, "table of reported results"});
  results.ignored = table.ignored;
  for (const ReportedRun& from : table.runs)
    for (const ReportedStage& stage : from.stages) {
      if (stage.cells.empty() && stage.facts.empty()) continue;
      ForeignRun run;
      run.harness = "reported table";
      run.model =
          from.name == table.name ? std::filesystem::path(table.name).stem().string() : from.name;
      run.stage = lower_text(stage.name);
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
        run.series.push_back(series_of(cell));
        has_assumed = has_assumed || cell.is_n_assumed;
      }
      if (from.manifest_hash.empty())
        run.notes.emplace_back("the numbers are claims: no record of the run shows them");
      if (has_assumed) run.notes.emplace_back("the number of items is taken for the full test set");
      results.runs.push_back(std::move(run));
    }
  return results;
}

}  // namespace nb
