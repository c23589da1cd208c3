#include "harness/cli/compare_stages.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>
#include <set>

#include "harness/base/say.hpp"
#include "harness/cli/common.hpp"
#include "results/audit/compare_tables.hpp"
#include "results/audit/read_table.hpp"
#include "results/compare/stage_gain.hpp"

namespace nb::cli {
namespace {

constexpr int kExitWorse = 1;

int print_gains(const RunRecords& run, const StageOptions& options, bool json) {
  const auto gains = stage_gains(run, options.stages[0], options.stages[1], options.metrics);
  if (!gains) return fail(gains.error());
  if (!json)
    say("{}", stage_gains_text(*gains));
  else if (const int printed = print_json(stage_gains_json(*gains)); printed != kExitOk)
    return printed;
  const bool is_worse = std::ranges::any_of(
      gains->gains, [](const StageGain& gain) { return gain.shown == Shown::kWorse; });
  if (is_worse) return kExitWorse;
  if (const int damaged = fail_for_damaged(gains->damaged); damaged != kExitOk) return damaged;
  return gains->gains.empty() ? kExitIncomparable : kExitOk;
}

// "SFT" is "sft" in a report card.
const ReportedStage* stage_of_run(const ReportedRun& run, const std::string& name) {
  const auto same = [](char a, char b) {
    return std::tolower(static_cast<unsigned char>(a)) ==
           std::tolower(static_cast<unsigned char>(b));
  };
  for (const ReportedStage& stage : run.stages)
    if (std::ranges::equal(stage.name, name, same)) return &stage;
  return nullptr;
}

int print_reported(const std::string& path, const std::vector<std::string>& stages, bool json) {
  const auto table = read_table(path);
  if (!table) return fail(table.error());
  std::vector<TableComparison> found;
  std::set<std::string> known;
  for (const ReportedRun& run : table->runs) {
    for (const ReportedStage& stage : run.stages)
      if (!stage.cells.empty()) known.insert(stage.name);
    const ReportedStage *a = stage_of_run(run, stages[0]), *b = stage_of_run(run, stages[1]);
    if (a == nullptr || b == nullptr || a == b) continue;
    const std::string name = table->runs.size() > 1 ? run.name + " " : "";
    found.push_back(nb::compare_stages(*a, name + a->name, *b, name + b->name));
  }
  if (found.empty())
    return fail({ErrorCode::kBadInput,
                 fmt::format("{}: no run has both stages, {} and {}; it has: {}", path, stages[0],
                             stages[1],
                             known.empty() ? "none" : fmt::format("{}", fmt::join(known, ", ")))});
  Json list = Json::array();
  bool is_worse = false;
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (json)
      list.push_back(comparison_json(found[i]));
    else
      say("{}{}", i == 0 ? "" : "\n", comparison_text(found[i]));
    is_worse = is_worse || found[i].verdict == TableVerdict::kRegressed;
  }
  if (json)
    if (const int printed = print_json(list); printed != kExitOk) return printed;
  return is_worse ? kExitWorse : kExitOk;
}

}  // namespace

int compare_stages(const std::string& path, const RunRecords& run, const StageOptions& options,
                   bool json) {
  const bool is_reported = std::ranges::all_of(
      run.records, [](const StoredRecord& stored) { return is_imported(stored.record); });
  if (!is_reported) return print_gains(run, options, json);
  if (!options.metrics.empty())
    return fail({ErrorCode::kBadInput,
                 "--metric: of a report card or a table all scores are compared; leave it out"});
  return print_reported(path, options.stages, json);
}

}  // namespace nb::cli
