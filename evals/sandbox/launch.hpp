// Starts one child with exactly the descriptors, limits and rights that a plan lists.
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
  std::string folder = "/";
  std::vector<ResourceLimit> limits;  // never raised over the hard limits that there are
  bool becomes_nobody = false;        // gives up root: user and group 65534, no groups
  int landlock = -1;                  // rule set, of landlock_rules
  std::string filter;                 // of system_call_filter; empty: none
};

// Descriptors of the child by number, 0 to 7; -1: closed there. All others are closed.
using ChildDescriptors = std::array<int, 8>;
inline constexpr std::size_t kRules = 3;  // where `landlock` of the plan goes until it is applied

// The child's process id, once it runs argv[0]. It leads a session of its own and dies with the
// calling thread. An error names the step that failed; then no child is left.
Result<pid_t> launch(const LaunchPlan& plan, const ChildDescriptors& descriptors);

struct Pipe {
  Descriptor out, in;  // to read from, to write to; close-on-exec
};
Result<Pipe> make_pipe();

}  // namespace nb::sandbox
