#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "harness/base/fs.hpp"
#include "harness/base/progress.hpp"
#include "harness/base/say.hpp"
#include "harness/cli/common.hpp"
#include "harness/cli/planted_ends.hpp"
#include "harness/cli/run_needs.hpp"
#include "harness/cli/verb.hpp"
#include "harness/doctor/machine.hpp"
#include "harness/doctor/run_checks.hpp"
#include "harness/mpi/open_processes.hpp"
#include "harness/run/finished_trainings.hpp"
#include "harness/run/job.hpp"
#include "harness/run/preflight.hpp"
#include "harness/run/write_evaluation.hpp"
#include "results/gate/gate.hpp"
#include "results/gate/gate_history.hpp"
#include "results/gate/gate_policy.hpp"
#include "results/store/acceptance.hpp"
#include "results/store/store.hpp"

namespace nb::cli {
namespace {

struct RunOptions {
  SuiteOptions suite;
  std::string baseline;
  std::string policy;
  bool quiet = false;
  bool strict = false;
  bool no_gate = false;
};

Json summary_json(const Planned& planned, const RunSummary& summary) {
  Json nodes = Json::array();
  for (const NodeReport& report : summary.nodes) {
    const Node& node = planned.plan.nodes[report.node];
    nodes.push_back({{"name", node.name},
                     {"key", node.key},
                     {"outcome", name(report.outcome)},
                     {"folder", report.folder.string()},
                     {"host_time_s", report.host_time_s},
                     {"message", report.message}});
  }
  return {{"suite", planned.plan.suite},
          {"folder", summary.suite_folder.string()},
          {"executed", summary.count(NodeOutcome::kExecuted)},
          {"reused", summary.count(NodeOutcome::kReused)},
          {"failed", summary.count(NodeOutcome::kFailed)},
          {"skipped", summary.count(NodeOutcome::kSkipped)},
          {"nodes", nodes}};
}

// The verdict of this run against the baseline that was read before it started.
Result<GateResult> gate_run(const RunSummary& summary, const RunRecords& baseline,
                            const GatePolicy& policy, bool strict) {
  NB_TRY(const RunRecords candidate, read_run(summary.suite_folder));
  GateOptions options;
  options.strict = strict;
  GateResult night = gate(baseline, candidate, policy, options);
  if (const auto remembered = remember_night(gate_home(candidate.path), baseline, candidate, night);
      !remembered)
    say_on_stderr(
        fmt::format("npubench: this night is not remembered: {}\n", remembered.error().message));
  return night;
}

// Evaluations that are recorded but have no score.
std::vector<std::string> unscored_lines(const Planned& planned, const RunSummary& summary) {
  std::vector<std::string> lines;
  for (const NodeReport& report : summary.nodes) {
    const Node& node = planned.plan.nodes[report.node];
    if (node.kind() != NodeKind::kEval || report.outcome == NodeOutcome::kFailed ||
        report.outcome == NodeOutcome::kSkipped)
      continue;
    const auto record = read_record(report.folder);
    if (!record) continue;
    if (const std::string text = unscored_text(*record); !text.empty())
      lines.push_back(fmt::format("{}: {}\n", node.name, text));
  }
  return lines;
}

int finish(const RunOptions& options, const Planned& planned, const RunSummary& summary,
           const std::optional<RunRecords>& baseline, const GatePolicy& policy) {
  Json json = summary_json(planned, summary);
  const PlantedEnds ends = planted_ends(planned.plan, summary);
  int exit_code = ends.exit_code;
  std::string verdict;
  if (baseline && !options.no_gate) {
    const auto result = gate_run(summary, *baseline, policy, options.strict);
    if (!result) return fail(result.error());
    verdict = gate_text(*result);
    json["gate"] = gate_json(*result);
    // 1 before 4: a regression is said even when something else failed.
    if (exit_code == kExitOk || result->exit_code == 1) exit_code = result->exit_code;
  }
  for (const std::string& line : unscored_lines(planned, summary)) {
    if (exit_code == kExitOk) exit_code = kExitRun;
    say_on_stderr(line);
  }
  if (options.suite.json) {
    const int printed = print_json(json);
    return printed == kExitOk ? exit_code : printed;
  }
  for (const NodeReport& report : summary.nodes)
    if ((report.outcome == NodeOutcome::kFailed && !is_ended_by_fault(report)) ||
        report.outcome == NodeOutcome::kSkipped)
      say_line("{} {}: {}", name(report.outcome), planned.plan.nodes[report.node].name,
               report.message);
  say("{}", ends.text);
  say_line("{}", counts_text(summary));
  say_line("results: {}", summary.suite_folder.string());
  say_on_stdout(verdict);
  return exit_code;
}

// A run may not be gated against the folder that it writes: it would always be equal to itself.
Result<void> check_baseline(const RunRecords& baseline, const Planned& planned) {
  std::error_code error;
  const fs::path read = fs::weakly_canonical(baseline.path, error);
  const Node& node = planned.plan.nodes.front();
  const fs::path folder =
      node_folder(planned.options.results_dir, planned.plan.suite, node.name, node.key);
  const fs::path written = fs::weakly_canonical(folder.parent_path(), error);
  const auto inside = [](const fs::path& path, const fs::path& above) {
    const auto relative = path.lexically_relative(above);
    return !relative.empty() && *relative.begin() != "..";
  };
  if (!inside(read, written)) return {};
  return bad_input(
      fmt::format("--baseline {}: this run writes that folder, so it would be compared "
                  "with itself; copy the accepted run elsewhere, or write this one "
                  "elsewhere (--results-dir)",
                  baseline.path.string()));
}

// job: null where this process is alone.
int run(const RunOptions& options, const Job* job) {
  if (options.quiet) set_progress_mode(ProgressMode::kQuiet);
  if (!options.policy.empty() && options.baseline.empty())
    return fail(
        {ErrorCode::kBadInput,
         fmt::format("--policy {}: is of the gate; give --baseline RUN too", options.policy)});
  if (options.strict && options.baseline.empty())
    return fail({ErrorCode::kBadInput, "--strict: is of the gate; give --baseline RUN too"});
  const auto policy = read_policy(options.policy);
  if (!policy) return fail(policy.error());
  std::optional<RunRecords> baseline;
  if (!options.baseline.empty()) {
    auto records = read_run(options.baseline);
    if (!records) return fail(with_context(records.error(), "--baseline"));
    baseline = std::move(*records);
  }
  FinishedTrainings finished;
  if (baseline) finished = finished_trainings(*baseline);
  auto planned = make_planned(options.suite, finished.found);
  if (!planned) return fail(planned.error());
  if (baseline) {
    if (const auto apart = check_baseline(*baseline, *planned); !apart) return fail(apart.error());
    const bool asks =
        std::ranges::any_of(planned->suite.evaluations, &EvaluationSettings::of_baseline);
    if (asks && finished.removed > 0)
      say_on_stderr(fmt::format(
          "--baseline {}: {} of its {} trainings have no checkpoint any more; "
          "they are not evaluated again\n",
          options.baseline, finished.removed, finished.removed + finished.found.size()));
  }
  planned->options.quiet = options.quiet;

  if (job != nullptr)
    if (const auto shared = check_job(planned->plan, job->processes().count()); !shared)
      return fail(shared.error());
  const Forecast expected = forecast(planned->plan, planned->options);
  if (!options.quiet)
    say_on_stderr(fmt::format("{}: {}\n", planned->suite.name, forecast_text(expected)));
  if (const auto ready = preflight(planned->plan, planned->options, expected); !ready)
    return fail(ready.error());
  if (const auto ready =
          doctor::check_ready(needs_of(*planned, expected), doctor::own_environment());
      !ready)
    return fail(ready.error());
  const auto summary =
      run_plan(planned->plan, planned->options,
               job != nullptr ? lead_trainings(job->processes()) : StageFunction(execute_stage));
  if (!summary) return fail(summary.error());
  return finish(options, *planned, *summary, baseline, *policy);
}

// The part of a process that does not lead.
int follow(const RunOptions& options, Job& job) {
  set_progress_mode(ProgressMode::kQuiet);
  auto planned = make_planned(options.suite);
  const fs::path data_dir = planned ? planned->options.data_dir : fs::path();
  const Result<Plan> plan =
      planned ? Result<Plan>(std::move(planned->plan)) : tl::unexpected<Error>(planned.error());
  const int exit_code = follow_trainings(job.processes(), plan, data_dir);
  job.end(exit_code);
  return exit_code;
}

// In one process, or in those that mpirun has started.
int run(const RunOptions& options) {
  const auto job = Job::open();
  if (!job) return fail(job.error());
  if (*job == nullptr) return run(options, nullptr);
  if (!(*job)->processes().leads()) return follow(options, **job);
  const int exit_code = run(options, job->get());
  (*job)->end(exit_code);
  return exit_code;
}

}  // namespace

Action add_run(CLI::App& app) {
  auto options = std::make_shared<RunOptions>();
  add_suite_options(app, options->suite);
  add_compute_options(app);
  app.add_option("--baseline", options->baseline,
                 "run folder to gate against; the verdict becomes the exit code. Evaluations with "
                 "of_baseline also look at its checkpoints, where tonight's trainings differ");
  app.add_option(
      "--policy", options->policy,
      "with --baseline: gate policy (suites/policies/*.json); default: the built-in one");
  app.add_flag("--strict", options->strict,
               "with --baseline: exit with 2 instead of 0 on \"can't tell\"");
  app.add_flag("--no-gate", options->no_gate,
               "with --baseline: do not judge, npubench gate will; only look at its checkpoints");
  app.add_flag("--quiet", options->quiet, "no progress on stderr");
  app.footer(
      "Interrupted runs resume: run the same command again.\n"
      "Exit codes: 0 done (and PASS), 1 REGRESSED, 2 can't tell (--strict), 3 INCOMPARABLE, 4 a "
      "node failed, 64 bad usage or input.");
  return [options] { return run(*options); };
}

}  // namespace nb::cli
