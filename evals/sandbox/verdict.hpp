// What the supervisor saw of a run → what became of the program. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "evals/sandbox/sandbox.hpp"

namespace nb::sandbox {

// Why the supervisor ended the run; kNone: it did not.
enum class Stop { kNone, kIdle, kWall, kOutput, kScratch, kNoise };

struct Observed {
  std::string report;       // everything that came through the report channel, from "ready" on
  std::string ask, permit;  // the two secrets of this run; permit is empty until it was given
  int exit_code = 0;        // 128 + signal when killed
  std::int64_t cpu_ms = 0;  // of all processes of the run
  Stop stop = Stop::kNone;
};

// What the runner says before it runs anything: without it, the sandbox itself did not come up.
inline constexpr std::string_view kReady = "ready\n";

// `report` starts with kReady. Passed only when "<ask>\npassed <permit>\n" follows. Any
// other report than the three that the runner makes is a forgery.
ProgramOutcome verdict(const Observed& observed, const Limits& limits);

// Where the supervisor must answer with the permit: the report so far is the question and nothing
// else.
bool asks_for_permit(const Observed& observed);

// Whether the report so far can no longer become one that the runner makes.
bool is_noise(const Observed& observed);

}  // namespace nb::sandbox
