#include "harness/cli/list_runs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <span>

#include "harness/base/say.hpp"
#include "harness/base/table.hpp"
#include "harness/base/text_width.hpp"
#include "harness/base/visible_text.hpp"
#include "harness/cli/common.hpp"
#include "harness/cli/open_index.hpp"
#include "results/store/listed_run.hpp"
#include "results/store/meant_names.hpp"

namespace nb::cli {
namespace {

// What stands between the table's rows and the whole truth.
std::string left_out_text(std::size_t shown, std::size_t total) {
  return shown == total ? ""
                        : fmt::format("the newest {} of {} runs; --limit 0 lists all\n",
                                      with_commas(static_cast<long long>(shown)),
                                      with_commas(static_cast<long long>(total)));
}

// A run's name as `runs list` prints it, else a folder: its index and its name there, if it is one.
struct NamedRun {
  RunIndex index;
  std::string run;
};
Result<NamedRun> find_run(const RunListOptions& options) {
  auto index = open_index(options.results_dir);
  if (options.run.empty()) {
    if (!index) return tl::unexpected(index.error());
    return NamedRun{std::move(*index), ""};
  }
  std::vector<std::string> names;
  if (index)
    for (const RunFolder& run : index->runs()) names.push_back(run.name);
  if (std::find(names.begin(), names.end(), options.run) != names.end())
    return NamedRun{std::move(*index), options.run};
  if (std::error_code ignored; std::filesystem::is_directory(options.run, ignored)) {
    NB_TRY(RunIndex of_folder, open_index(options.run));
    return NamedRun{std::move(of_folder), ""};
  }
  if (!index) return tl::unexpected(index.error());
  return bad_input(fmt::format("no run \"{}\" in {}{} (npubench runs list)", options.run,
                               index->folder().string(), meant_names(options.run, names)));
}

Json metric_json(const MetricSummary& metric) {
  return {{"metric", metric.name}, {"unit", metric.unit},
          {"clock", metric.clock}, {"records", metric.records},
          {"runs", metric.runs},   {"last", metric.last.empty() ? Json() : Json(metric.last)}};
}

}  // namespace

void add_run_options(CLI::App& runs, RunListOptions& options) {
  runs.add_option("--results-dir", options.results_dir,
                  "folder of runs, however deep they lie (default: as in npubench run)");
  runs.add_option(
          "--limit", options.limit,
          fmt::format("list the newest N only; 0: all (default: {}, with --json all)", kNewest))
      ->type_name("N")
      ->check(whole(0));
}

void add_metric_options(CLI::App& metrics, RunListOptions& options) {
  metrics.add_option("RUN", options.run,
                     "a run as runs list names it, or its folder (default: all)");
  metrics.add_option("--results-dir", options.results_dir,
                     "folder of runs, however deep they lie (default: as in npubench run)");
}

int list_runs(const RunListOptions& options, bool json) {
  const auto index = open_index(options.results_dir);
  if (!index) return fail(index.error());
  const auto runs = listed_runs(*index);
  const auto limit = static_cast<std::size_t>(options.limit.value_or(json ? 0 : kNewest));
  const auto shown = std::span(runs).first(limit == 0 ? runs.size() : std::min(limit, runs.size()));
  if (json) {
    Json list = Json::array();
    for (const ListedRun& run : shown) list.push_back(run_json(run));
    return print_json({{"schema", "npubench.runs/1"},
                       {"results_dir", index->folder().string()},
                       {"total", runs.size()},
                       {"runs", std::move(list)},
                       {"notes", index->notes()}});
  }
  if (runs.empty()) {
    say_line("no runs in {}", index->folder().string());
    return kExitOk;
  }
  std::string text = to_text(runs_table(shown), output_width());
  for (const ListedRun& run : shown)
    for (const std::string& damage : run.damage)
      text += fmt::format("! {}\n", visible_line(damage));
  say("{}{}", text, left_out_text(shown.size(), runs.size()));
  return kExitOk;
}

int list_metrics(const RunListOptions& options, bool json) {
  const auto found = find_run(options);
  if (!found) return fail(found.error());
  const auto metrics = found->index.metrics(found->run);
  const std::string where =
      found->run.empty() ? found->index.folder().string() : "run " + found->run;
  if (json) {
    Json list = Json::array();
    for (const MetricSummary& metric : metrics) list.push_back(metric_json(metric));
    return print_json({{"schema", "npubench.metrics/1"},
                       {"results_dir", found->index.folder().string()},
                       {"run", found->run.empty() ? Json() : Json(found->run)},
                       {"metrics", std::move(list)},
                       {"notes", found->index.notes()}});
  }
  say_damage(found->index);
  if (metrics.empty()) {
    say_line("no metrics in {}", where);
    return kExitOk;
  }
  TextTable table{{"metric", "unit", "clock", "records", "runs", "last"}, {}};
  for (const MetricSummary& metric : metrics)
    table.rows.push_back({metric.name, metric.unit, metric.clock, with_commas(metric.records),
                          with_commas(metric.runs), short_time(metric.last)});
  say("{}", to_text(table, output_width()));
  return kExitOk;
}

}  // namespace nb::cli
