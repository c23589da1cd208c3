// What one sandboxed process is started with, and its start: exactly the descriptors, limits and
// rights that a plan lists. Called in the guard only (guard.hpp), which has one thread.
#pragma once

#include <sys/resource.h>
#include <sys/types.h>

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "evals/sandbox/landlock.hpp"
#include "harness/base/result.hpp"

namespace nb::sandbox {

struct ResourceLimit {
  int resource = 0;  // RLIMIT_…
  std::uint64_t soft = 0, hard = 0;
};

struct LaunchPlan {
  std::vector<std::string> argv;         // argv[0]: absolute path
  std::vector<std::string> environment;  // "NAME=value": all of it
  std::vector<ResourceLimit> limits;     // never raised over the hard limits that there are
  bool becomes_nobody = false;           // gives up root: user and group 65534, no groups
  bool has_rules = false;                // kRules is a rule set of landlock_rules, to be applied
  bool has_folder = false;               // kFolder is the folder to work in; else that is "/"
  std::string filter;                    // of system_call_filter; empty: none
};

// Descriptors of the child by number, 0 to 7; -1: closed there. All others are closed.
using ChildDescriptors = std::array<int, 8>;
// Only until they have been applied.
inline constexpr std::size_t kRules = 3, kFolder = 4;

// A child that leads a session of its own and dies with this process; a negative errno value where
// there is none. What keeps it from running argv[0] it writes to `status` as a LaunchFailure; a
// start that succeeds closes that without a word.
pid_t start_child(const LaunchPlan& plan, const ChildDescriptors& descriptors, int status);

struct LaunchFailure {
  int step = 0;
  int error = 0;
};
// "sandbox: /usr/bin/bwrap failed at setting limits: …"
std::string text_of(const LaunchFailure& failure, const std::string& program);

struct Pipe {
  Descriptor out, in;  // to read from, to write to; close-on-exec
};
Result<Pipe> make_pipe();

}  // namespace nb::sandbox
