// How each level starts the runner: what is put in front of the interpreter, and what the child may
// see.
#pragma once

#include <filesystem>
#include <string>

#include "evals/sandbox/launch.hpp"
#include "evals/sandbox/sandbox.hpp"

namespace nb::sandbox {

// A level as probe() found it to work.
struct Method {
  Level level = Level::kBubblewrap;
  bool becomes_nobody = false;  // this process is root and may give it up
  std::string python;
  std::string bubblewrap;  // absolute path; empty: not installed
  std::string filter;      // of system_call_filter
};

// Descriptor numbers of the child; the runner knows the first five.
inline constexpr std::size_t kProgram = 0, kOut = 1, kErr = 2, kReport = 3, kPermit = 4,
                             kFilterText = 5, kStatusText = 6;

// bwrap reads the filter from kFilterText and writes {"child-pid": …} to kStatusText.
LaunchPlan bubblewrap_plan(const Method& method, const Limits& limits);
// The child works in `folder`, which must be its own, and reads the interpreter's files; `rules`
// comes from landlock_rules(landlock_paths(folder)).
LaunchPlan landlock_plan(const Method& method, const Limits& limits,
                         const std::filesystem::path& folder, const Descriptor& rules);
LandlockPaths landlock_paths(const std::filesystem::path& folder);

}  // namespace nb::sandbox
