// How each level starts the runner: what is put in front of the interpreter, and what the child may
// see.
#pragma once

#include <string>
#include <string_view>

#include "evals/sandbox/launch.hpp"
#include "evals/sandbox/sandbox.hpp"
#include "evals/sandbox/scratch.hpp"

namespace nb::sandbox {

// A level as probe() found it to work.
struct Method {
  Level level = Level::kBubblewrap;
  bool becomes_nobody = false;  // this process is root and may give it up
  std::string python;
  std::string bubblewrap;  // absolute path; empty: not installed
  std::string filter;      // of system_call_filter
};

// Descriptor numbers of a child, beside kRules and kFolder. wire.py knows the last three: the
// program reads kRequests and writes kAnswers, its checker has their other ends and kReport.
inline constexpr std::size_t kJob = 0, kOut = 1, kErr = 2, kFilterText = 3, kStatusText = 4,
                             kRequests = 5, kAnswers = 6, kReport = 7;

// The limit of core files, soft and hard. Less than any core file; and unlike 0 it keeps the kernel
// from starting a collector of core dumps (a core_pattern with a pipe, fs/coredump.c), which would
// write to the host. No program can change it.
inline constexpr std::uint64_t kCoreBytes = 1;

// `script`: what the interpreter runs. bwrap reads the filter from kFilterText and writes
// {"child-pid": …} to kStatusText.
LaunchPlan bubblewrap_plan(const Method& method, const Limits& limits, std::string_view script);
// The child reads the interpreter's files and works in `folder`, which must be its own; null: it
// writes no files. The rules of landlock_paths(folder) go to kRules, the folder itself to kFolder.
LaunchPlan landlock_plan(const Method& method, const Limits& limits, std::string_view script,
                         const Scratch* folder);
LandlockPaths landlock_paths(const Scratch* folder);

}  // namespace nb::sandbox
