#include "harness/cli/common.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <nlohmann/json.hpp>

#include "harness/run/locations.hpp"
#include "harness/suite/load.hpp"

namespace nb::cli {

int fail(const Error& error) {
  fmt::print(stderr, "npubench: {}\n", error.message);
  return static_cast<int>(error.code);
}

int print_json(const Json& json) {
  const auto text = dump_json(json);
  if (!text) return fail(text.error());
  fmt::print("{}\n", *text);
  return kExitOk;
}

void add_suite_options(CLI::App& app, SuiteOptions& options) {
  app.add_option("suite", options.file, "suite file (JSON, comments allowed)")->required();
  app.add_option("--set", options.sets,
                 "change one value: /pointer=value, e.g. /stages/base/iterations=20; repeatable");
  app.add_option("--fault", options.faults,
                 "plant a fault: kind:target (npubench list faults); repeatable");
  app.add_option("--results-dir", options.results_dir,
                 "where runs are kept (default: NPUBENCH_RESULTS, else results/runs)");
  app.add_option("--data-dir", options.data_dir,
                 "public data (default: NPUBENCH_DATA, else ~/.cache/npubench/data)");
  app.add_option("--node", options.node, "this node alone: its name or the start of its key");
  app.add_flag("--fresh", options.fresh, "reuse nothing");
  app.add_flag("--json", options.json, "JSON on stdout");
}

Result<Planned> make_planned(const SuiteOptions& options) {
  std::vector<Override> overrides;
  for (const std::string& text : options.sets) {
    NB_TRY(Override change, parse_override(text));
    overrides.push_back(std::move(change));
  }
  Planned planned;
  NB_TRY(planned.suite, load_suite(options.file, overrides));
  planned.options.results_dir = results_folder(options.results_dir);
  planned.options.data_dir = data_folder(options.data_dir);
  planned.options.fresh = options.fresh;
  NB_TRY(planned.plan,
         make_plan(planned.suite, {planned.options.data_dir, options.faults}, options.file));
  if (!options.node.empty()) {
    NB_TRY(planned.options.only, planned.plan.find(options.node));
  }
  return planned;
}

}  // namespace nb::cli
