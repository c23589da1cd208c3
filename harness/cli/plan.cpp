#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "harness/base/fs.hpp"
#include "harness/base/own_files.hpp"
#include "harness/base/say.hpp"
#include "harness/base/table.hpp"
#include "harness/base/text_width.hpp"
#include "harness/cli/common.hpp"
#include "harness/cli/verb.hpp"
#include "harness/plan/node_kinds.hpp"
#include "harness/plan/workflow.hpp"
#include "harness/run/preflight.hpp"
#include "harness/suite/load.hpp"
#include "results/store/store.hpp"

namespace nb::cli {
namespace {

std::string_view fate(const NodeForecast& node) {
  if (!node.will_run) return node.condition == NodeCondition::kDone ? "reused" : "-";
  switch (node.condition) {
    case NodeCondition::kAbsent:
      return "runs";
    case NodeCondition::kPartial:
      return "resumes";
    case NodeCondition::kDamaged:
      return "runs (damaged)";
    case NodeCondition::kDone:
      return "runs again";
  }
  return "?";
}

Json plan_json(const Plan& plan, const Forecast& expected) {
  Json nodes = Json::array();
  for (std::size_t i = 0; i < plan.nodes.size(); ++i) {
    const Node& node = plan.nodes[i];
    const NodeForecast& entry = expected.nodes[i];
    Json parents = Json::array();
    for (const std::size_t parent : node.parents) parents.push_back(plan.nodes[parent].name);
    nodes.push_back({{"name", node.name},
                     {"kind", info(node.kind()).name},
                     {"key", node.key},
                     {"parents", parents},
                     {"fate", fate(entry)},
                     {"will_run", entry.will_run},
                     {"expected_time_s", entry.expected.time_s},
                     {"expected_disk_bytes", entry.expected.disk_bytes},
                     {"expected_memory_bytes", entry.expected.memory_bytes}});
  }
  return {{"suite", plan.suite},
          {"nodes", nodes},
          {"to_run", expected.to_run},
          {"reused", expected.reused},
          {"expected_time_s", expected.time_s},
          {"expected_disk_bytes", expected.disk_bytes}};
}

std::string plan_text(const Plan& plan, const Forecast& expected) {
  TextTable table{{"node", "key", "", "time", "disk", "memory"}, {}};
  for (std::size_t i = 0; i < plan.nodes.size(); ++i) {
    const NodeForecast& entry = expected.nodes[i];
    const Expectation& e = entry.expected;
    table.rows.push_back({plan.nodes[i].name, plan.nodes[i].key.substr(0, 8),
                          std::string(fate(entry)),
                          entry.will_run ? human_time_ns(e.time_s * 1e9) : "",
                          entry.will_run ? human_bytes(static_cast<double>(e.disk_bytes)) : "",
                          entry.will_run ? human_bytes(static_cast<double>(e.memory_bytes)) : ""});
  }
  return to_text(table, output_width()) + forecast_text(expected) + "\n";
}

}  // namespace

namespace {

struct PlanOptions {
  SuiteOptions suite;
  std::string to;   // an engine's name; empty: none
  std::string out;  // file; empty: stdout
};

// `npubench run` of one node, wherever it is started: paths are absolute.
std::vector<std::string> command_of(const PlanOptions& options, const Planned& planned,
                                    const Node& node) {
  std::error_code ignored;
  const auto absolute = [&](const fs::path& path) { return fs::absolute(path, ignored).string(); };
  std::vector<std::string> words = {own_program().string(),
                                    "run",
                                    absolute(shipped(options.suite.file)),
                                    "--node",
                                    node.name,
                                    "--results-dir",
                                    absolute(planned.options.results_dir),
                                    "--data-dir",
                                    absolute(planned.options.data_dir),
                                    "--quiet"};
  for (const std::string& set : options.suite.sets) words.insert(words.end(), {"--set", set});
  for (const std::string& fault : options.suite.faults)
    words.insert(words.end(), {"--fault", fault});
  return words;
}

int write_workflow(const PlanOptions& options, const Planned& planned, const Forecast& expected) {
  std::vector<std::string> names;
  for (const WorkflowFormat format : kWorkflowFormats) names.emplace_back(name(format));
  const auto format = std::ranges::find(names, options.to);
  if (format == names.end())
    return fail({ErrorCode::kBadInput,
                 fmt::format("--to {}: no such engine{}; there are {}", options.to,
                             did_you_mean(options.to, names), fmt::join(names, ", "))});
  std::vector<WorkflowJob> jobs;
  for (std::size_t i = 0; i < planned.plan.nodes.size(); ++i) {
    const Node& node = planned.plan.nodes[i];
    std::error_code ignored;
    const fs::path folder = node_folder(fs::absolute(planned.options.results_dir, ignored),
                                        planned.plan.suite, node.name, node.key);
    jobs.push_back({node.name, (folder / "record.json").string(),
                    command_of(options, planned, node), node.parents,
                    expected.nodes[i].expected.memory_bytes});
  }
  const auto text =
      workflow_text(kWorkflowFormats[format - names.begin()], planned.plan.suite, jobs);
  if (!text) return fail(text.error());
  if (options.out.empty()) {
    say("{}", *text);
    return kExitOk;
  }
  const auto written = write_file(options.out, *text);
  if (!written) return fail(written.error());
  say("{}: {}\n", options.out, count_text(std::ssize(jobs), "job"));
  return kExitOk;
}

}  // namespace

Action add_plan(CLI::App& app) {
  auto options = std::make_shared<PlanOptions>();
  add_suite_options(app, options->suite);
  app.add_option(
      "--to", options->to,
      "write the nodes for an engine that runs jobs on many machines: make, snakemake or "
      "slurm (results and data in shared folders)");
  app.add_option("--out", options->out, "with --to: the file (default: stdout)");
  app.footer(
      "Keys of a suite (JSON; comments allowed; a device or microbenchmark may be just its "
      "name):\n" +
      suite_help() + "Exit codes: 0 planned, 64 bad usage or input, or data files are missing.");
  return [options] {
    const auto planned = make_planned(options->suite);
    if (!planned) return fail(planned.error());
    const Forecast expected = forecast(planned->plan, planned->options);
    if (!options->to.empty()) return write_workflow(*options, *planned, expected);
    if (!options->out.empty())
      return fail({ErrorCode::kBadInput, "--out: names the file of --to; give both"});
    if (!options->suite.json)
      say("{}", plan_text(planned->plan, expected));
    else if (const int printed = print_json(plan_json(planned->plan, expected)); printed != kExitOk)
      return printed;
    const auto there = check_data_is_there(planned->plan, planned->options, expected);
    return there ? kExitOk : fail(there.error());
  };
}

}  // namespace nb::cli
