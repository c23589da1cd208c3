// One trial from launch to verdict: starts the program and its checker, each in a sandbox of its
// own with channels between them, watches their clocks, ends them.
#pragma once

#include "evals/sandbox/levels.hpp"
#include "evals/sandbox/sandbox.hpp"

namespace nb::sandbox {

// Blocks until nothing of the two processes is left. Thread-safe.
Result<ProgramOutcome> supervise(const Method& method, const Trial& trial, const Limits& limits);

}  // namespace nb::sandbox
