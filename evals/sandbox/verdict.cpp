#include "evals/sandbox/verdict.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <csignal>
#include <optional>

#include "harness/base/check.hpp"

namespace nb::sandbox {

namespace {

// Cuts off and returns the first line of `text`, or nothing when there is no whole line.
std::optional<std::string_view> take_line(std::string_view& text) {
  const std::size_t end = text.find('\n');
  if (end == text.npos) return std::nullopt;
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(end + 1);
  return line;
}

std::string_view after_ready(const Observed& observed) {
  return std::string_view(observed.report).substr(kReady.size());
}

ProgramOutcome ended(Outcome outcome, std::string reason) {
  return {outcome, std::move(reason), {}};
}

std::optional<ProgramOutcome> reported(const Observed& observed) {
  std::string_view rest = after_ready(observed);
  const auto first = take_line(rest);
  if (!first) return std::nullopt;
  if (*first == observed.ask) {
    const auto second = take_line(rest);
    if (!second || observed.permit.empty() || *second != "passed " + observed.permit)
      return std::nullopt;
    return ProgramOutcome{Outcome::kPassed, "", std::string(rest)};
  }
  if (*first == "memory" && rest.empty()) return ended(Outcome::kMemory, "MemoryError");
  if (*first != "failed") return std::nullopt;
  const auto type = take_line(rest);
  const auto message = type ? take_line(rest) : std::nullopt;
  if (!message) return std::nullopt;
  std::string reason(*type);
  if (!message->empty()) reason += fmt::format(": {}", *message);
  return ProgramOutcome{Outcome::kFailed, std::move(reason), std::string(rest)};
}

ProgramOutcome stopped(const Observed& observed, const Limits& limits) {
  switch (observed.stop) {
    case Stop::kIdle:
      return ended(Outcome::kTimedOut, fmt::format("slept {} s", limits.idle_seconds));
    case Stop::kWall:
      return ended(Outcome::kTimedOut, fmt::format("not done after {} s", limits.wall_seconds));
    case Stop::kOutput:
      return ended(Outcome::kFailed, "printed without end past the runner");
    case Stop::kScratch:
      return ended(Outcome::kFailed,
                   fmt::format("wrote more than {} bytes of files", limits.scratch_bytes));
    case Stop::kNoise:
      return ended(Outcome::kForged, "wrote to the report channel");
    case Stop::kNone:
      break;
  }
  return {};
}

}  // namespace

bool asks_for_permit(const Observed& observed) {
  return observed.permit.empty() && observed.report.starts_with(kReady) &&
         after_ready(observed) == observed.ask + "\n";
}

bool is_noise(const Observed& observed) {
  constexpr std::size_t kLongest = 64;
  const std::string_view report = std::string_view(observed.report).substr(0, kLongest);
  if (report.size() < kReady.size()) return !kReady.starts_with(report);
  const std::string_view rest = report.substr(kReady.size());
  const std::string question = observed.ask + "\n";
  const std::string answer = question + "passed " + observed.permit + "\n";
  const auto fits = [rest](std::string_view wanted) {
    return rest.starts_with(wanted.substr(0, rest.size()));
  };
  return !report.starts_with(kReady) ||
         !(fits("failed\n") || fits("memory\n") ||
           (observed.permit.empty() ? fits(question) && rest.size() <= question.size()
                                    : fits(answer)));
}

ProgramOutcome verdict(const Observed& observed, const Limits& limits) {
  NB_CHECK(observed.report.starts_with(kReady), "[sandbox] a verdict about a run that never began");
  if (observed.stop != Stop::kNone) return stopped(observed, limits);
  if (auto outcome = reported(observed)) return *outcome;
  // The kernel counts its limit in ticks of its clock, which may be far from the time measured. No
  // other signal of that kind comes from inside; from outside, only for want of memory.
  if (observed.exit_code == 128 + SIGKILL && 2 * observed.cpu_ms >= 1000 * limits.cpu_seconds)
    return ended(Outcome::kTimedOut, fmt::format("used {} s of CPU time", limits.cpu_seconds));
  const bool is_unfinished_question =
      after_ready(observed).empty() || after_ready(observed) == observed.ask + "\n";
  if (!is_unfinished_question) return ended(Outcome::kForged, "wrote to the report channel");
  if (observed.exit_code > 128 && observed.exit_code <= 128 + 64)
    return ended(Outcome::kCrashed, fmt::format("signal {}", observed.exit_code - 128));
  return ended(
      Outcome::kExited,
      fmt::format("the process ended with code {} before the program did", observed.exit_code));
}

}  // namespace nb::sandbox
