#include "harness/nightly/judge.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <future>
#include <iterator>
#include <system_error>

#include "harness/base/fs.hpp"
#include "harness/base/say.hpp"
#include "results/gate/aa_control.hpp"
#include "results/gate/gate_history.hpp"
#include "results/gate/gate_policy.hpp"
#include "results/import/to_records.hpp"
#include "results/messages/sentences.hpp"
#include "results/store/acceptance.hpp"

namespace nb {
namespace {

fs::path home_of(const GateRequest& request, const RunRecords& run) {
  return request.home.empty() ? gate_home(run.path) : fs::path(request.home);
}

// What was accepted last.
Result<RunRecords> read_baseline(const GateRequest& request, const RunRecords& candidate) {
  const std::string suite = candidate.path.filename().string();
  const fs::path home = home_of(request, candidate);
  NB_TRY(const auto accepted, find_accepted(home, suite));
  if (!accepted)
    return bad_input(
        fmt::format("gate: no run of the suite \"{}\" was accepted in {}; accept one (npubench "
                    "gate accept RUN "
                    "--why \"…\") or name the baseline (npubench gate BASE CAND)",
                    suite, (home / kAcceptedFolder).string()));
  return read_accepted(home / kAcceptedFolder / (suite + ".json"));
}

Result<void> add_golden(const GateRequest& request, const GatePolicy& policy,
                        const RunRecords& candidate, const GateOptions& how, GateResult& night) {
  const std::string path = request.golden.empty() ? policy.baselines.golden : request.golden;
  if (path.empty()) return {};
  NB_TRY(const RunRecords golden, read_gate_side(path), "golden run");
  const std::string& expected = policy.baselines.golden_digest;
  if (request.golden.empty() && !expected.empty()) {
    NB_TRY(const std::string digest, run_digest(golden), "golden run");
    if (digest != expected)
      return bad_input(fmt::format(
          "{}: is not the golden run of the policy: its digest is {}, /baselines/golden_digest {}",
          path, digest, expected));
  }
  add_verdicts(night, gate(golden, candidate, policy, how), message("gate.against_golden"), how);
  return {};
}

}  // namespace

Result<RunRecords> read_gate_side(const std::string& path) {
  const fs::path file(path);
  std::error_code ignored;
  const bool is_pointer =
      fs::is_regular_file(file, ignored) &&
      (file.filename() == kAcceptedFile || file.parent_path().filename() == kAcceptedFolder);
  return is_pointer ? read_accepted(file) : read_any_run(path);
}

Result<GateResult> judge(const GateRequest& request) {
  NB_TRY(const GatePolicy policy, read_policy(request.policy));
  GateOptions how;
  how.strict = request.strict;
  const std::string& named =
      request.baseline.empty() ? policy.baselines.accepted : request.baseline;
  std::future<Result<RunRecords>> ahead;  // both at once
  if (!named.empty()) ahead = std::async([&] { return read_gate_side(named); });
  NB_TRY(RunRecords candidate, read_gate_side(request.candidate));
  NB_TRY(RunRecords baseline, named.empty() ? read_baseline(request, candidate) : ahead.get());
  StatedDirections directions = request.directions;
  std::ranges::copy(policy.higher, std::back_inserter(directions.higher));
  std::ranges::copy(policy.lower, std::back_inserter(directions.lower));
  NB_TRY_VOID(state_directions(directions, {&baseline, &candidate}));
  GateResult night = gate(baseline, candidate, policy, how);
  NB_TRY_VOID(add_golden(request, policy, candidate, how, night));
  if (!request.control.empty()) {
    NB_TRY(const RunRecords control, read_gate_side(request.control), "--control");
    add_verdicts(night, aa_control(candidate, control), verbatim("A/A control"), how);
  }
  // What another harness wrote is no night of a suite here.
  const bool is_ours = !candidate.records.empty() && has_record(candidate.records.front().folder);
  if (request.forgets || !is_ours) return night;
  const auto remembered =
      remember_night(home_of(request, candidate), baseline, candidate, night, request.night);
  if (!remembered)
    say_on_stderr(
        fmt::format("npubench: this night is not remembered: {}\n", remembered.error().message));
  return night;
}

}  // namespace nb
