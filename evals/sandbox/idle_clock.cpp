#include "evals/sandbox/idle_clock.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <string>

#include "harness/base/fs.hpp"

namespace nb::sandbox {

namespace {

std::optional<std::int64_t> read_busy_ns(const std::string& path) {
  const auto text = read_file(path);
  return text ? busy_ns_of(*text) : std::nullopt;
}

}  // namespace

std::optional<std::int64_t> busy_ns_of(std::string_view schedstat) {
  std::int64_t run = 0;
  std::int64_t waited = 0;
  const char* const end = schedstat.data() + schedstat.size();
  const auto [after, failed] = std::from_chars(schedstat.data(), end, run);
  if (failed != std::errc() || after == end || *after != ' ') return std::nullopt;
  const auto [rest, failed_too] = std::from_chars(after + 1, end, waited);
  if (failed_too != std::errc()) return std::nullopt;
  return run + waited;
}

bool can_tell_idle_from_waiting() {
  const auto busy = read_busy_ns("/proc/self/schedstat");
  return busy && *busy > 0;
}

bool is_asleep(pid_t process) {
  bool is_there = false;
  std::error_code gone;
  for (std::filesystem::directory_iterator task(fmt::format("/proc/{}/task", process), gone), end;
       !gone && task != end; task.increment(gone)) {
    // "id (name) R …"
    const auto stat = read_file(task->path() / "stat");
    const std::size_t name_end = stat ? stat->rfind(") ") : std::string::npos;
    if (name_end == std::string::npos) continue;
    const char state = stat->c_str()[name_end + 2];
    if (state == 'R') return false;
    is_there = is_there || (state != 'Z' && state != 'X');
  }
  return is_there;
}

std::chrono::nanoseconds IdleClock::sample(std::span<const pid_t> processes,
                                           Clock::time_point now) {
  using std::chrono::nanoseconds;
  const nanoseconds passed = now - last_;
  last_ = now;
  nanoseconds busy{0}, unseen{0};
  std::map<pid_t, Thread> threads;
  for (const pid_t process : processes) {
    std::error_code gone;  // the process may end while we look
    for (std::filesystem::directory_iterator task(fmt::format("/proc/{}/task", process), gone), end;
         !gone && task != end; task.increment(gone)) {
      const std::string number = task->path().filename();
      pid_t id = 0;
      std::from_chars(number.data(), number.data() + number.size(), id);
      const auto total = read_busy_ns(task->path() / "schedstat");
      if (!total) continue;
      const auto known = threads_.find(id);
      Thread thread = known == threads_.end() ? Thread{0, idle_} : known->second;
      const nanoseconds more(*total - thread.busy_ns);
      busy += more;
      // The kernel tells of a wait when it is over: what is more than passed was waited before, in
      // time that was taken for idle.
      if (more > passed && known != threads_.end())
        unseen = std::max(unseen, std::min(more - passed, idle_ - thread.idle_then));
      if (more > nanoseconds(0)) thread = {*total, idle_};
      threads[id] = thread;
    }
  }
  threads_ = std::move(threads);
  // Several threads can be busy for longer than passed.
  idle_ += std::max(passed - busy, nanoseconds(0)) - unseen;
  for (auto& [id, thread] : threads_) thread.idle_then = std::min(thread.idle_then, idle_);
  return idle_;
}

}  // namespace nb::sandbox
