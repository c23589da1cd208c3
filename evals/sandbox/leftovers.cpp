#include "evals/sandbox/leftovers.hpp"

#include <fmt/core.h>
#include <signal.h>
#include <sys/types.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <sstream>
#include <string>
#include <string_view>

#include "evals/sandbox/scratch.hpp"
#include "evals/sandbox/scripts.hpp"
#include "harness/base/fs.hpp"

namespace nb::sandbox {

namespace {

struct Process {
  bool is_sandbox = false;  // its command line has a script of ours
  pid_t parent = 0;
  std::ptrdiff_t depth = 0;  // process namespaces that it is in, from ours on
};

// The value of a line "Name:\t…" of /proc/<pid>/status.
std::string_view field(std::string_view status, std::string_view name) {
  const std::size_t at = status.find(fmt::format("\n{}:\t", name));
  if (at == status.npos) return {};
  const std::string_view value = status.substr(at + name.size() + 3);
  return value.substr(0, value.find('\n'));
}

Process look_at(pid_t pid) {
  Process process;
  const auto status = read_file(fmt::format("/proc/{}/status", pid));
  const auto command = read_file(fmt::format("/proc/{}/cmdline", pid));
  if (!status || !command) return process;
  const std::string_view first_line = kRunnerText.substr(0, kRunnerText.find('\n'));
  process.is_sandbox = command->find(first_line) != command->npos;
  const std::string_view parent = field(*status, "PPid");
  std::from_chars(parent.data(), parent.data() + parent.size(), process.parent);
  process.depth = std::ranges::count(field(*status, "NSpid"), '\t') + 1;
  return process;
}

// bwrap's inner process waits for the outer one to set up its user namespace, and only then asks to
// die with it. Killed in between, the outer one leaves it waiting for ever.
void kill_waiting_processes() {
  std::error_code gone;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", gone)) {
    const std::string name = entry.path().filename();
    pid_t pid = 0;
    const auto [end, failed] = std::from_chars(name.data(), name.data() + name.size(), pid);
    if (failed != std::errc() || end != name.data() + name.size()) continue;
    const Process process = look_at(pid);
    if (!process.is_sandbox) continue;
    const Process parent = look_at(process.parent);
    // The outer process of a sandbox in use is in its parent's namespace; the inner one's parent is
    // the outer one.
    if (!parent.is_sandbox && process.depth > std::max<std::ptrdiff_t>(parent.depth, 1))
      ::kill(pid, SIGKILL);
  }
}

}  // namespace

void end_leftovers() {
  kill_waiting_processes();
  remove_dead_scratch();
}

}  // namespace nb::sandbox
