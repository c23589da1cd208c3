// One program from launch to verdict: feeds it, watches its clocks, cuts what it prints, ends it.
#pragma once

#include <string_view>

#include "evals/sandbox/levels.hpp"
#include "evals/sandbox/sandbox.hpp"

namespace nb::sandbox {

// Blocks until nothing of the program is left. Thread-safe.
Result<ProgramOutcome> supervise(const Method& method, std::string_view program,
                                 const Limits& limits);

}  // namespace nb::sandbox
