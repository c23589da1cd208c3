#include "evals/sandbox/sandbox.hpp"

#include <algorithm>
#include <atomic>
#include <optional>
#include <thread>

#include "evals/sandbox/supervise.hpp"
#include "harness/base/check.hpp"
#include "harness/base/parallel.hpp"

namespace nb::sandbox {

std::string_view name(Level level) {
  return level == Level::kBubblewrap ? "bubblewrap" : "landlock";
}

std::string_view name(Outcome outcome) {
  switch (outcome) {
    case Outcome::kPassed:
      return "passed";
    case Outcome::kFailed:
      return "failed";
    case Outcome::kTimedOut:
      return "timed out";
    case Outcome::kMemory:
      return "out of memory";
    case Outcome::kExited:
      return "exited early";
    case Outcome::kCrashed:
      return "crashed";
    case Outcome::kForged:
      return "forged";
  }
  return "";
}

std::map<std::string, std::string> environment(const Ability& ability) {
  std::string open;
  for (const std::string& phrase : ability.unprotected) open += (open.empty() ? "" : "; ") + phrase;
  return {{"sandbox", std::string(name(ability.level))},
          {"sandbox_unprotected", open},
          {"python", ability.python_version}};
}

Result<ProgramOutcome> run_trial(const Ability& ability, const Trial& trial, const Limits& limits) {
  NB_CHECK(ability.method != nullptr, "[sandbox] an ability that probe() did not make");
  return supervise(*ability.method, trial, limits);
}

Result<std::vector<ProgramOutcome>> run_trials(const Ability& ability,
                                               std::span<const Trial> trials,
                                               const Limits& limits) {
  std::vector<ProgramOutcome> outcomes(trials.size());
  std::vector<std::optional<Error>> errors(trials.size());
  // A thread of its own for each, since it spends its time waiting: the pool's threads compute.
  std::atomic<std::size_t> next = 0;
  const auto work = [&] {
    for (std::size_t i = 0; (i = next++) < trials.size();) {
      auto outcome = run_trial(ability, trials[i], limits);
      if (outcome)
        outcomes[i] = *std::move(outcome);
      else
        errors[i] = std::move(outcome).error();
    }
  };
  const std::size_t count =
      std::min(trials.size(), static_cast<std::size_t>(std::max(threads(), 1)));
  {
    std::vector<std::jthread> workers;
    for (std::size_t i = 0; i < count; ++i) workers.emplace_back(work);
  }
  for (const auto& error : errors)
    if (error) return tl::unexpected<Error>(*error);
  return outcomes;
}

}  // namespace nb::sandbox
