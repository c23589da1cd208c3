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

std::chrono::nanoseconds IdleClock::sample(std::span<const pid_t> processes,
                                           Clock::time_point now) {
  std::int64_t busy = 0;
  std::map<pid_t, std::int64_t> threads;
  for (const pid_t process : processes) {
    std::error_code gone;  // the process may end while we look
    for (std::filesystem::directory_iterator task(fmt::format("/proc/{}/task", process), gone), end;
         !gone && task != end; task.increment(gone)) {
      const std::string number = task->path().filename();
      pid_t thread = 0;
      std::from_chars(number.data(), number.data() + number.size(), thread);
      const auto total = read_busy_ns(task->path() / "schedstat");
      if (!total) continue;
      const auto before = busy_ns_.find(thread);
      busy += *total - (before == busy_ns_.end() ? 0 : before->second);
      threads[thread] = *total;
    }
  }
  busy_ns_ = std::move(threads);
  const std::chrono::nanoseconds passed = now - last_;
  last_ = now;
  // Several threads can be busy for longer than passed.
  idle_ += std::max(passed - std::chrono::nanoseconds(busy), std::chrono::nanoseconds(0));
  return idle_;
}

}  // namespace nb::sandbox
