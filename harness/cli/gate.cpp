#include "results/gate.hpp"

#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "harness/cli/common.hpp"
#include "harness/cli/verb.hpp"
#include "results/import/to_records.hpp"
#include "results/store.hpp"

namespace nb::cli {
namespace {

struct Options {
  std::string base;
  std::string candidate;
  std::string policy;
  bool strict = false;
  bool json = false;
};

Result<GatePolicy> read_policy(const std::string& path) {
  if (path.empty()) return GatePolicy{};
  NB_TRY(const Json json, read_json(path, JsonComments::kAllowed));
  return parse_struct<GatePolicy>(json, path);
}

int run_gate(const Options& options) {
  const auto policy = read_policy(options.policy);
  if (!policy) return fail(policy.error());
  const auto base = read_any_run(options.base);
  if (!base) return fail(base.error());
  const auto candidate = read_any_run(options.candidate);
  if (!candidate) return fail(candidate.error());
  GateOptions gate_options;
  gate_options.strict = options.strict;
  const GateResult result = gate(*base, *candidate, *policy, gate_options);
  if (options.json) {
    const int printed = print_json(gate_json(result));
    return printed == kExitOk ? result.exit_code : printed;
  }
  fmt::print("{}", gate_text(result));
  return result.exit_code;
}

}  // namespace

Action add_gate(CLI::App& app) {
  auto options = std::make_shared<Options>();
  app.add_option("BASE", options->base, "run folder of the accepted baseline")->required();
  app.add_option("CAND", options->candidate, "run folder to judge")->required();
  app.add_option("--policy", options->policy, "gate policy (JSON); default: the built-in one");
  app.add_flag("--strict", options->strict, "exit with 2 instead of 0 on \"can't tell\"");
  app.add_flag("--json", options->json, "JSON on stdout");
  app.footer(
      "Exit codes: 0 PASS or IMPROVED (or can't tell), 1 REGRESSED or SUSPICIOUS, 2 can't tell "
      "(--strict),\n3 INCOMPARABLE, 4 ERROR, 64 bad usage or input.\n\nKeys of a policy:\n" +
      help_fields(GatePolicy{}.fields()));
  return [options] { return run_gate(*options); };
}

}  // namespace nb::cli
