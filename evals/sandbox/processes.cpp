#include "evals/sandbox/processes.hpp"

#include <fmt/core.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <charconv>
#include <filesystem>
#include <sstream>

#include "evals/sandbox/landlock.hpp"
#include "harness/base/fs.hpp"

namespace nb::sandbox {

std::vector<pid_t> all_processes() {
  std::vector<pid_t> list;
  std::error_code gone;
  for (std::filesystem::directory_iterator entry("/proc", gone), end; !gone && entry != end;
       entry.increment(gone)) {
    const std::string name = entry->path().filename();
    pid_t pid = 0;
    const auto [last, failed] = std::from_chars(name.data(), name.data() + name.size(), pid);
    if (failed == std::errc() && last == name.data() + name.size()) list.push_back(pid);
  }
  return list;
}

pid_t parent_of(pid_t process) {
  const auto stat = read_file(fmt::format("/proc/{}/stat", process));
  // "pid (name) state parent …", where a name may hold anything.
  const std::size_t name_end = stat ? stat->rfind(')') : std::string::npos;
  if (name_end == std::string::npos || stat->size() < name_end + 5) return 0;
  pid_t parent = 0;
  std::from_chars(stat->data() + name_end + 4, stat->data() + stat->size(), parent);
  return parent;
}

std::vector<pid_t> children_of_this_process() {
  std::vector<pid_t> list;
  const pid_t self = ::getpid();
  if (const auto text = read_file(fmt::format("/proc/self/task/{}/children", self))) {
    std::istringstream words(*text);
    for (pid_t child = 0; words >> child;) list.push_back(child);
    return list;
  }
  // A kernel without that file.
  for (const pid_t process : all_processes())
    if (parent_of(process) == self) list.push_back(process);
  return list;
}

bool kill_surely(pid_t process, bool (*is_still)(pid_t)) {
  const Descriptor handle(static_cast<int>(::syscall(SYS_pidfd_open, process, 0)));
  if (!is_still(process)) return false;
  // Kernels before 5.3 have no handles.
  if (!handle.is_open()) return ::kill(process, SIGKILL) == 0;
  return ::syscall(SYS_pidfd_send_signal, handle.get(), SIGKILL, nullptr, 0) == 0;
}

}  // namespace nb::sandbox
