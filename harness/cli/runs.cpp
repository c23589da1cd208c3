// `npubench runs`: what lies in a folder of runs, and care for it.
#include <memory>

#include "harness/cli/common.hpp"
#include "harness/cli/data_store.hpp"
#include "harness/cli/list_runs.hpp"
#include "harness/cli/verb.hpp"

namespace nb::cli {
namespace {

template <class Given>
Action command(CLI::App& app, void (*add)(CLI::App&, Given&), int (*run)(const Given&, bool)) {
  struct WithJson {
    Given options;
    bool json = false;
  };
  auto asked = std::make_shared<WithJson>();
  add(app, asked->options);
  app.add_flag("--json", asked->json, "JSON on stdout");
  return [asked, run] { return run(asked->options, asked->json); };
}

}  // namespace

Action add_runs_list(CLI::App& app) { return command(app, add_run_options, list_runs); }
Action add_runs_metrics(CLI::App& app) { return command(app, add_metric_options, list_metrics); }
Action add_runs_gc(CLI::App& app) { return command(app, add_gc_options, collect_garbage); }
Action add_runs_reindex(CLI::App& app) { return command(app, add_reindex_options, reindex); }

}  // namespace nb::cli
