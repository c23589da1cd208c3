// npubench's side of the guard: a small process that starts every sandboxed process, and that has
// one aim of its own: when npubench ends, however it ends, nothing of them is left, neither
// processes nor folders.
//
//   npubench ── guard ── program, checker; or bwrap ── program, …
//
// The kernel gives the guard whatever is orphaned below it (PR_SET_CHILD_SUBREAPER), so that it
// finds all of it, and npubench's end closes a socket and readies a pidfd, so that no signal and no
// crash goes unnoticed. It leads a session of its own, where neither Ctrl-C nor a hang-up reaches
// it, and ends last. No program can reach it: the system call filter refuses signals, tracing and
// foreign limits.
// One guard a process; thread-safe.
#pragma once

#include <sys/types.h>

#include <string_view>

#include "evals/sandbox/launch.hpp"

namespace nb::sandbox {

inline constexpr std::string_view kGuardName = "npubench-sandbox-guard";  // its argv[0]

// Starts it where this process has none yet. What is made before that, nobody removes when npubench
// is killed.
Result<void> need_guard();

struct Launched {
  pid_t pid = 0;
  Descriptor end;  // a News of guard_wire.hpp when it has ended; without one: the guard is gone
};
// A child of the guard, once it runs argv[0]. An error names the step that failed; then no child is
// left.
Result<Launched> launch(const LaunchPlan& plan, const ChildDescriptors& descriptors);

// Kills a launched process, or a child of it. A process that has ended is none of these any more,
// whoever has its number now.
void kill_launched(pid_t launched, pid_t target);

}  // namespace nb::sandbox
