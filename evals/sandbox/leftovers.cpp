#include "evals/sandbox/leftovers.hpp"

#include <fmt/core.h>
#include <poll.h>
#include <sys/types.h>
#include <unistd.h>

#include <sstream>
#include <string>
#include <string_view>

#include "evals/sandbox/levels.hpp"
#include "evals/sandbox/processes.hpp"
#include "evals/sandbox/scratch.hpp"
#include "evals/sandbox/scripts.hpp"
#include "harness/base/fs.hpp"

namespace nb::sandbox {

namespace {

constexpr int kReapMs = 2000;
constexpr std::size_t kScriptBytes = 200;  // of its beginning: enough to be no coincidence

// Of a file of a process below /proc; empty: it has ended, or may not be seen.
std::string about(pid_t process, std::string_view file) {
  return read_file(fmt::format("/proc/{}/{}", process, file)).value_or("");
}

// "Max core file size  <soft>  <hard>  bytes" of /proc/<pid>/limits.
bool has_limit(const std::string& limits, std::string_view name, std::uint64_t value) {
  const std::size_t at = limits.find(name);
  if (at == limits.npos) return false;
  std::istringstream words(limits.substr(at + name.size()));
  std::string soft, hard;
  words >> soft >> hard;
  return soft == std::to_string(value) && hard == soft;
}

// A program can put another command line in place of its own, but can get rid neither of the filter
// nor of these limits, which hardly anybody else has.
bool is_marked(pid_t process) {
  const std::string status = about(process, "status");
  if (status.find("\nNoNewPrivs:\t1\n") == status.npos ||
      status.find("\nSeccomp:\t2\n") == status.npos)
    return false;
  const std::string limits = about(process, "limits");
  return has_limit(limits, "Max core file size", kCoreBytes) &&
         has_limit(limits, "Max msgqueue size", 0) && has_limit(limits, "Max locked memory", 0);
}

// The whole of a script of ours as one argument, an interpreter's or a bwrap's.
bool has_script(pid_t process) {
  const std::string beginning = '\0' + std::string(kRunnerText.substr(0, kScriptBytes));
  return about(process, "cmdline").find(beginning) != std::string::npos;
}

bool is_sandboxed(pid_t process) { return is_marked(process) || has_script(process); }

// Ours, and with neither a guard above it nor a bwrap that has one.
bool is_left_over(pid_t process) {
  if (process == ::getpid() || !is_sandboxed(process)) return false;
  for (pid_t above = parent_of(process); above > 1; above = parent_of(above)) {
    // A guard, or an npubench of a time without guards.
    if (about(above, "comm").starts_with("npubench")) return false;
    if (!is_sandboxed(above)) break;
  }
  return about(process, "status").find("\nState:\tZ") == std::string::npos;
}

void end_left_over_processes() {
  if (is_marked(::getpid())) return;  // then the marks tell nothing
  for (int waited_ms = 0; waited_ms < kReapMs; waited_ms += 10) {
    bool is_any_left = false;
    for (const pid_t process : all_processes())
      is_any_left = (is_left_over(process) && kill_surely(process, is_left_over)) || is_any_left;
    if (!is_any_left) return;
    ::poll(nullptr, 0, 10);
  }
}

}  // namespace

void end_leftovers() {
  end_left_over_processes();
  remove_dead_scratch();
}

}  // namespace nb::sandbox
