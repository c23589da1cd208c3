// What the supervisor saw of a trial → what became of the program. Pure.
#pragma once

#include <cstdint>
#include <string>

#include "evals/sandbox/sandbox.hpp"

namespace nb::sandbox {

// Why the supervisor ended the trial; kNone: it did not.
enum class Stop { kNone, kIdle, kWall, kOutput, kScratch };

struct Observed {
  struct End {
    int exit_code = 0;        // 128 + signal when killed
    std::int64_t cpu_ms = 0;  // of all its threads
  };
  std::string report;  // the checker's, whose words are listed at the beginning of checker.py
  End program, checker;
  Stop stop = Stop::kNone;
};

// Whether the checker has reported that the program's process is gone, so that how this process
// ended decides the outcome.
bool waits_for_program(const Observed& observed);

// What kept this computer from deciding anything (an interpreter that did not start, a test that
// cannot be run); empty: verdict() may be asked.
std::string trouble_of_host(const Observed& observed);

ProgramOutcome verdict(const Observed& observed, const Limits& limits);

}  // namespace nb::sandbox
