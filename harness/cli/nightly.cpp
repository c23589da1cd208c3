#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "harness/base/fs.hpp"
#include "harness/base/own_files.hpp"
#include "harness/base/say.hpp"
#include "harness/cli/common.hpp"
#include "harness/cli/verb.hpp"
#include "harness/nightly/night.hpp"
#include "results/gate/gate_policy.hpp"

namespace nb::cli {
namespace {

constexpr const char* kDefaultSuite = "suites/nightly.json";

struct NightlyOptions {
  NightRequest night;
  bool json = false;
};

Result<void> check(NightRequest& request) {
  NB_TRY(request.name, name_of_night(request.name));
  NB_TRY_VOID(read_policy(request.policy));  // before hours of work, not after
  const std::size_t imports = request.imports.size();
  if (imports == 1 || imports > 2)
    return bad_input(
        fmt::format("nightly: --import is given {} time{}; give it twice: what is judged against, "
                    "then what is judged",
                    imports, imports == 1 ? "" : "s"));
  if (imports == 2) {
    if (!request.suite.empty())
      return bad_input(
          fmt::format("nightly: {} and --import: a night runs a suite or imports two "
                      "results, not both",
                      request.suite));
    if (!request.baseline.empty())
      return bad_input("nightly: --baseline: the first --import is what is judged against");
    if (is_same_run(request.imports[0], request.imports[1]))
      return bad_input(
          fmt::format("nightly: --import {} is given twice; results are always equal to themselves",
                      request.imports[0]));
    return {};
  }
  if (request.suite.empty()) request.suite = kDefaultSuite;
  std::error_code ignored;
  request.suite = shipped(request.suite).string();
  if (!fs::is_regular_file(request.suite, ignored))
    return bad_input(
        fmt::format("nightly: {}: no such file; name a suite, or two results with "
                    "--import",
                    request.suite));
  return {};
}

int nightly(NightlyOptions& options) {
  if (const auto good = check(options.night); !good) return fail(good.error());
  const auto night = run_night(options.night);
  if (!night) return fail(night.error());
  if (options.json) {
    const int printed = print_json(night_json(*night));
    return printed == kExitOk ? night->exit_code : printed;
  }
  say("{}", night_text(*night));
  return night->exit_code;
}

}  // namespace

Action add_nightly(CLI::App& app) {
  auto options = std::make_shared<NightlyOptions>();
  NightRequest& night = options->night;
  night.nights = "results/nights";
  app.add_option("SUITE", night.suite, fmt::format("what to run (default: {})", kDefaultSuite));
  app.add_option("--import", night.imports,
                 "in place of a suite: results of another machine or harness; twice: the second is "
                 "judged against the first")
      ->allow_extra_args(false);
  app.add_option("--nights", night.nights, "where nights lie: NIGHTS/NAME/SUITE")
      ->capture_default_str();
  app.add_option("--name", night.name,
                 "name of the night (default: today's date, UTC); the same name resumes it and "
                 "replaces its line in the history");
  app.add_option("--baseline", night.baseline,
                 "run to judge against (default: what npubench gate accept took last in NIGHTS)");
  app.add_option("--policy", night.policy, "gate policy (suites/policies/*.json)");
  app.add_flag("--strict", night.strict, "exit with 2 instead of 0 on \"can't tell\"");
  app.add_option("--lang", night.language, "language of the report")
      ->check(CLI::IsMember({"en", "zh"}))
      ->capture_default_str();
  app.add_option("--keep", night.keep,
                 "nights of a sequence that stay (npubench runs gc), accepted ones apart; 0: all")
      ->check(whole(0))
      ->capture_default_str();
  app.add_flag("--json", options->json, "JSON on stdout");
  app.footer(
      "npubench nightly --import gpu/results --import npu/results --nights results/real\n\n"
      "NIGHTS/NAME holds the run, summary.txt (what is printed), gate.json, gate.xml (JUnit), "
      "report/ and a log of each step.\n"
      "Exit codes: 0 PASS, IMPROVED, can't tell or no baseline yet, 1 REGRESSED or SUSPICIOUS, 2 "
      "can't tell (--strict), 3 INCOMPARABLE, 4 a node or step failed, or another night is running "
      "in NIGHTS, 64 bad usage or input.");
  return [options] { return nightly(*options); };
}

}  // namespace nb::cli
