#include "evals/sandbox/sandbox.hpp"

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

Result<Ability> probe() { return run_error("sandbox: not there yet"); }

Result<ProgramOutcome> run_python(const Ability&, std::string_view, const Limits&) {
  return run_error("sandbox: not there yet");
}

Result<std::vector<ProgramOutcome>> run_python(const Ability&, std::span<const std::string>,
                                               const Limits&) {
  return run_error("sandbox: not there yet");
}

}  // namespace nb::sandbox
