#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "harness/base/table.hpp"
#include "harness/base/text_width.hpp"
#include "harness/cli/common.hpp"
#include "harness/cli/verb.hpp"
#include "harness/plan/node_kinds.hpp"
#include "harness/run/preflight.hpp"
#include "harness/suite/load.hpp"

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
  return to_text(table, kTextWidth) + forecast_text(expected) + "\n";
}

}  // namespace

Action add_plan(CLI::App& app) {
  auto options = std::make_shared<SuiteOptions>();
  add_suite_options(app, *options);
  app.footer(
      "Keys of a suite (JSON; comments allowed; a device or microbenchmark may be just its "
      "name):\n" +
      suite_help() + "Exit codes: 0 planned, 64 bad usage or input, or data files are missing.");
  return [options] {
    const auto planned = make_planned(*options);
    if (!planned) return fail(planned.error());
    const Forecast expected = forecast(planned->plan, planned->options);
    if (!options->json)
      fmt::print("{}", plan_text(planned->plan, expected));
    else if (const int printed = print_json(plan_json(planned->plan, expected)); printed != kExitOk)
      return printed;
    const auto there = check_data_is_there(planned->plan, planned->options, expected);
    return there ? kExitOk : fail(there.error());
  };
}

}  // namespace nb::cli
