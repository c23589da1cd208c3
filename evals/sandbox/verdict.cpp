#include "evals/sandbox/verdict.hpp"

#include <fmt/core.h>

#include <csignal>
#include <optional>

#include "harness/base/check.hpp"

namespace nb::sandbox {

namespace {

constexpr std::string_view kReady = "ready\n";

struct Report {
  std::string_view word;   // "passed", "failed", …; empty: the checker did not get that far
  std::string_view first;  // the line after it, or nothing
  std::string_view rest;   // everything behind the word
};

// Cuts off and returns the first line of `text`; without a line feed, nothing.
std::string_view take_line(std::string_view& text) {
  const std::size_t end = text.find('\n');
  if (end == text.npos) return {};
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(end + 1);
  return line;
}

Report read_report(std::string_view text) {
  Report report;
  if (!text.starts_with(kReady)) return report;
  text.remove_prefix(kReady.size());
  report.word = take_line(text);
  report.rest = text;
  report.first = take_line(text);
  return report;
}

ProgramOutcome ended(Outcome outcome, std::string reason) {
  return {outcome, std::move(reason), {}};
}

ProgramOutcome failed(std::string_view lines) {
  std::string reason(take_line(lines));
  if (const std::string_view message = take_line(lines); !message.empty())
    reason += fmt::format(": {}", message);
  return ended(Outcome::kFailed, std::move(reason));
}

ProgramOutcome stopped(Stop stop, const Limits& limits) {
  switch (stop) {
    case Stop::kIdle:
      return ended(Outcome::kTimedOut, fmt::format("slept {} s", limits.idle_seconds));
    case Stop::kWall:
      return ended(Outcome::kTimedOut, fmt::format("not done after {} s", limits.wall_seconds));
    case Stop::kOutput:
      return ended(Outcome::kFailed, "printed without end, bypassing the runner");
    case Stop::kScratch:
      return ended(Outcome::kFailed, fmt::format("wrote more than {} bytes of files, or too many",
                                                 limits.scratch_bytes));
    case Stop::kNone:
      break;
  }
  NB_CHECK(false, "[sandbox] a stop of no kind");
}

// The kernel counts its limit in ticks of its clock, which may be far from the time measured. No
// other signal of that kind comes from inside; from outside, only for want of memory.
bool used_up_its_time(const Observed::End& end, const Limits& limits) {
  return end.exit_code == 128 + SIGKILL && 2 * end.cpu_ms >= 1000 * limits.cpu_seconds;
}

std::optional<int> signal_of(const Observed::End& end) {
  if (end.exit_code <= 128 || end.exit_code > 128 + 64) return std::nullopt;
  return end.exit_code - 128;
}

ProgramOutcome end_of_program(const Observed::End& end, const Limits& limits) {
  if (used_up_its_time(end, limits))
    return ended(Outcome::kTimedOut, fmt::format("used {} s of CPU time", limits.cpu_seconds));
  if (const auto signal = signal_of(end))
    return ended(Outcome::kCrashed, fmt::format("signal {}", *signal));
  return ended(Outcome::kExited,
               fmt::format("the process ended with code {} before the test did", end.exit_code));
}

// The checker ended without a word: whatever the program gave it was too much to be compared.
ProgramOutcome end_of_checker(const Observed::End& end, const Limits& limits) {
  if (used_up_its_time(end, limits))
    return ended(Outcome::kTimedOut,
                 fmt::format("the test used {} s of CPU time", limits.cpu_seconds));
  if (const auto signal = signal_of(end))
    return ended(Outcome::kCrashed, fmt::format("signal {} in the test", *signal));
  return ended(Outcome::kCrashed, fmt::format("the test ended with code {}", end.exit_code));
}

}  // namespace

bool waits_for_program(const Observed& observed) {
  return read_report(observed.report).word == "gone";
}

std::string trouble_of_host(const Observed& observed) {
  // The program's own doing, which may come before the checker is ready.
  if (observed.stop == Stop::kScratch || observed.stop == Stop::kOutput) return {};
  if (!observed.report.starts_with(kReady))
    return fmt::format("the interpreter did not start (exit codes {} and {})",
                       observed.program.exit_code, observed.checker.exit_code);
  if (const Report report = read_report(observed.report); report.word == "unable")
    return std::string(report.first);
  return {};
}

ProgramOutcome verdict(const Observed& observed, const Limits& limits) {
  if (observed.stop != Stop::kNone) return stopped(observed.stop, limits);
  const Report report = read_report(observed.report);
  if (report.word == "passed") return {Outcome::kPassed, "", std::string(report.rest)};
  if (report.word == "failed") return failed(report.rest);
  if (report.word == "memory") return ended(Outcome::kMemory, "MemoryError");
  if (report.word == "broken")
    return ended(Outcome::kForged, fmt::format("its process sent {}", report.first));
  if (report.word == "gone") return end_of_program(observed.program, limits);
  return end_of_checker(observed.checker, limits);
}

}  // namespace nb::sandbox
