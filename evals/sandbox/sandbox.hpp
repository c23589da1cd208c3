// Tests a Python program that nobody trusts. The program has a fresh process of its own, without
// network, files of the host, or children, under limits of time, memory and space; the test runs in
// another one, under the same limits, and gets from the program nothing but plain values. How, and
// what each level protects: README.md beside this. Thread-safe: trials may run side by side.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/base/result.hpp"

namespace nb::sandbox {

enum class Level {
  kBubblewrap,  // own namespaces, seccomp filter, limits
  kLandlock,    // no namespaces (as in most containers): Landlock, seccomp filter, limits
};
std::string_view name(Level level);  // "bubblewrap", "landlock"

struct Method;

// What this host can do. Made by probe() only, so whoever holds one may run programs.
struct Ability {
  Level level = Level::kBubblewrap;
  std::string python;                    // absolute path of the interpreter
  std::string python_version;            // "3.11.2"
  std::vector<std::string> unprotected;  // what this level leaves open, one phrase each
  std::shared_ptr<const Method> method;  // how
};
// For a record's environment: sandbox, python, unprotected.
std::map<std::string, std::string> environment(const Ability& ability);

// Finds the strongest level that works here, by running small programs: one that must pass, one
// that must fail, and one that tries to get out. NPUBENCH_SANDBOX=bubblewrap|landlock allows that
// level only; NPUBENCH_PYTHON names another interpreter under /usr. Where no level works, an error
// that says why each does not and which container flags help. Found once per process and
// environment.
Result<Ability> probe();

// Time is what the program used, not what passed on a busy host: CPU time of all its threads, and
// apart from that the time for which it neither ran nor waited for a CPU (sleeps, locks). Memory is
// address space (RLIMIT_AS), as in the reference, not resident memory: an interpreter takes about
// 15 MiB of it before it begins.
// Each of the two processes has these to itself but the clocks of idleness and of the wall, which
// run for the trial: one that waits for the other is not idle as long as that works.
struct Limits {
  std::int64_t cpu_seconds = 5;             // nanochat's 5 seconds
  std::int64_t idle_seconds = 5;            // asleep
  std::int64_t wall_seconds = 300;          // distant backstop for what neither of the above stops
  std::uint64_t memory_bytes = 256U << 20;  // nanochat's 256 MiB: address space, data, stack
  std::uint64_t file_bytes = 8U << 20;      // one file
  std::uint64_t scratch_bytes = 32U << 20;  // all files
  std::uint64_t threads = 64;
  std::uint64_t open_files = 64;
};

enum class Outcome {
  kPassed,  // ran to its end
  kFailed,  // an exception left it
  kTimedOut,
  kMemory,   // MemoryError
  kExited,   // its process ended, or closed its channel, before the test did: os._exit, exec
  kCrashed,  // a signal
  kForged,   // its process sent something else than an answer to the test's call
};
std::string_view name(Outcome outcome);  // "passed", "failed", "timed out", …

struct Trial {
  std::string program;      // run by exec with fresh globals; its prints are dropped
  std::string entry_point;  // the program's function that the test gets as `candidate`
  // Defines check(candidate). Empty: a program that runs to its end has passed.
  std::string test;
  // Run before the test, for what this uses of it; may end at the head of a function. The test does
  // not see those of its functions that the program lacks, which would be the program's elsewhere.
  std::string prompt;
  std::string prelude;  // run before the program, in its process; may end at the head of a function
};

struct ProgramOutcome {
  Outcome outcome = Outcome::kFailed;
  std::string reason;  // empty when passed: "AssertionError", "ValueError: …", "more than 5 s …"
  std::string out;     // passed: what the test printed, cut to 64 KiB
};

// Fresh interpreters (standard library only). The program has nanochat's and human-eval's disabled
// functions, and stdin that cannot be read. An error is the host's fault (no memory for a process,
// disk full) or the test's (not Python, passes what cannot be sent), never the program's.
Result<ProgramOutcome> run_trial(const Ability& ability, const Trial& trial,
                                 const Limits& limits = {});
// All of them, `threads()` side by side; outcomes in order, the same for any number of threads.
Result<std::vector<ProgramOutcome>> run_trials(const Ability& ability,
                                               std::span<const Trial> trials,
                                               const Limits& limits = {});

}  // namespace nb::sandbox
