#include "results/gate/gate.hpp"

#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "harness/base/fs.hpp"
#include "harness/base/say.hpp"
#include "harness/cli/common.hpp"
#include "harness/cli/directions.hpp"
#include "harness/cli/gate_modes.hpp"
#include "harness/cli/verb.hpp"
#include "harness/nightly/judge.hpp"
#include "results/gate/aa_control.hpp"
#include "results/gate/gate_formats.hpp"
#include "results/store/store.hpp"

namespace nb::cli {
namespace {

struct GateOptions {
  std::vector<std::string> runs;
  GateModes modes;
  std::string policy, golden, control;
  std::string format = "text", junit, markdown;
  StatedDirections directions;
  bool strict = false, forgets = false;
};

Result<GateResult> judge(const GateOptions& options) {
  NB_TRY_VOID(read_policy(options.policy));  // a mistake there is said before one in the runs
  if (options.runs.size() == 2 && is_same_run(options.runs[0], options.runs[1]))
    return bad_input(fmt::format(
        "gate: {} is given twice; a run is always equal to itself: give a baseline and a candidate",
        options.runs[0]));
  GateRequest request;
  request.candidate = options.runs.back();
  if (options.runs.size() == 2) request.baseline = options.runs.front();
  request.policy = options.policy;
  request.golden = options.golden;
  request.control = options.control;
  request.home = options.modes.home;
  request.directions = options.directions;
  request.strict = options.strict;
  request.forgets = options.forgets;
  return nb::judge(request);
}

Result<GateResult> control_alone(const GateOptions& options) {
  NB_TRY(const RunRecords first, read_gate_side(options.runs[0]));
  NB_TRY(const RunRecords second, read_gate_side(options.runs[1]));
  return aa_control(first, second);
}

int show(const GateOptions& options, const GateResult& result) {
  if (!options.junit.empty())
    if (const auto written = write_file(options.junit, gate_junit(result)); !written)
      return fail(written.error());
  if (!options.markdown.empty())
    if (const auto written = write_file(options.markdown, gate_markdown(result)); !written)
      return fail(written.error());
  if (options.modes.json || options.format == "json") {
    const int printed = print_json(gate_json(result));
    return printed == kExitOk ? result.exit_code : printed;
  }
  say("{}", options.format == "junit"      ? gate_junit(result)
            : options.format == "markdown" ? gate_markdown(result)
                                           : gate_text(result));
  return result.exit_code;
}

std::string wrong_count(const GateOptions& options) {
  const std::size_t runs = options.runs.size();
  if (options.modes.accepts && runs != 1) return "accept takes one run";
  if (options.modes.is_control && runs != 2) return "aa takes two runs of the same keys";
  const bool judges =
      !options.modes.accepts && !options.modes.is_control && !options.modes.calibrates;
  if (judges && runs > 2) return "takes a candidate, or a baseline and a candidate";
  return {};
}

int run_gate(const GateOptions& options) {
  if (const std::string wrong = wrong_count(options); !wrong.empty())
    return fail(
        {ErrorCode::kBadInput, fmt::format("gate: {}; {} are given", wrong, options.runs.size())});
  if (options.modes.accepts || options.modes.calibrates) {
    std::vector<RunRecords> runs;
    for (const std::string& path : options.runs) {
      auto run = read_gate_side(path);
      if (!run) return fail(run.error());
      runs.push_back(std::move(*run));
    }
    return options.modes.accepts ? accept(options.modes, runs.front())
                                 : write_noise_profile(options.modes, runs);
  }
  const auto result = options.modes.is_control ? control_alone(options) : judge(options);
  return result ? show(options, *result) : fail(result.error());
}

void add_output(CLI::App& app, GateOptions& options) {
  app.add_option("--format", options.format, "what goes to stdout")
      ->check(CLI::IsMember({"text", "json", "junit", "markdown"}))
      ->capture_default_str();
  app.add_option("--junit", options.junit, "also write JUnit XML to this file")->type_name("FILE");
  app.add_option("--markdown", options.markdown, "also write Markdown to this file")
      ->type_name("FILE");
}

void add_home(CLI::App& app, GateModes& modes) {
  app.add_option("--results-dir", modes.home,
                 "folder of accepted/ and gates.jsonl; default: the nearest above the run that has "
                 "them, else the one that it lies in")
      ->type_name("DIR");
}

void add_json(CLI::App& app, GateModes& modes) {
  app.add_flag("--json", modes.json, "JSON on stdout");
}

}  // namespace

Action add_gate_check(CLI::App& app) {
  auto options = std::make_shared<GateOptions>();
  app.add_option("RUNS", options->runs,
                 "CAND (judged against the accepted run), or BASE CAND; run folders or "
                 "accepted/<suite>.json")
      ->required();
  app.add_option("--policy", options->policy,
                 "gate policy (suites/policies/*.json); default: the built-in one")
      ->type_name("FILE");
  app.add_option("--golden", options->golden,
                 "a fixed reference run, also compared against; default: the policy's")
      ->type_name("RUN");
  app.add_option("--control", options->control,
                 "the candidate computed a second time: must be bit-identical, else ERROR")
      ->type_name("RUN");
  add_directions(app, options->directions);
  app.add_flag("--strict", options->strict, "exit with 2 instead of 0 on \"can't tell\"");
  add_output(app, *options);
  app.add_flag("--no-history", options->forgets, "do not append the night to gates.jsonl");
  add_home(app, options->modes);
  add_json(app, options->modes);
  GateModes& modes = options->modes;
  app.add_flag("--accept", modes.accepts, "")->is_now("npubench gate accept RUN --why REASON");
  app.add_option("--why", modes.why, "")->is_now("");
  app.add_option("--who", modes.who, "")->is_now("");
  app.add_flag("--aa", modes.is_control, "")->is_now("npubench gate aa RUN1 RUN2");
  app.add_flag("--calibrate", modes.calibrates, "")->is_now("npubench gate calibrate RUNS");
  app.add_option("--out", modes.out, "")->is_now("");
  app.footer(
      "Exit codes: 0 PASS or IMPROVED (or can't tell), 1 REGRESSED or SUSPICIOUS, 2 can't tell "
      "(--strict), 3 INCOMPARABLE, 4 ERROR, 64 bad usage or input.\n\nKeys of a policy:\n" +
      help_fields(GatePolicy{}.fields()));
  return [options] { return run_gate(*options); };
}

Action add_gate_accept(CLI::App& app) {
  auto options = std::make_shared<GateOptions>();
  GateModes& modes = options->modes;
  modes.accepts = true;
  app.add_option("RUN", options->runs, "folder of the run that is the baseline from now on")
      ->required();
  app.add_option("--why", modes.why, "the reason, kept with the run; required")
      ->type_name("REASON");
  app.add_option("--who", modes.who, "who decides it; default: the user's name")->type_name("NAME");
  add_home(app, modes);
  add_json(app, modes);
  app.footer("Exit codes: 0 accepted, 4 it could not be written, 64 bad usage or input.");
  return [options] { return run_gate(*options); };
}

Action add_gate_aa(CLI::App& app) {
  auto options = std::make_shared<GateOptions>();
  options->modes.is_control = true;
  app.add_option("RUNS", options->runs, "two folders of runs of the same keys")->required();
  add_output(app, *options);
  add_json(app, options->modes);
  app.footer("Exit codes: 0 the same bits, 4 not so, or a node is missing, 64 bad usage or input.");
  return [options] { return run_gate(*options); };
}

Action add_gate_calibrate(CLI::App& app) {
  auto options = std::make_shared<GateOptions>();
  options->modes.calibrates = true;
  app.add_option("RUNS", options->runs,
                 "healthy runs: A/A runs, accepted nights, runs with several seeds")
      ->required();
  app.add_option("--out", options->modes.out, "file of the noise profile; default: stdout")
      ->type_name("FILE");
  app.footer(
      "The profile says how many answers flip and how far metrics spread between healthy runs; a "
      "policy names it (\"noise_profile\"). Exit codes: 0 written, 64 bad usage or input.");
  return [options] { return run_gate(*options); };
}

}  // namespace nb::cli
