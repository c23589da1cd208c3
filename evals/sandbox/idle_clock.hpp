// How long a process did nothing of its own will: neither on a CPU nor waiting for one. On a busy
// host the clock on the wall runs on while a program waits its turn; this one does not.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string_view>

namespace nb::sandbox {

// False where the kernel keeps no scheduler statistics (/proc/<pid>/schedstat); IdleClock then
// counts all time as idle.
bool can_tell_idle_from_waiting();

// Sampled by whoever supervises: the more often, the better threads that end are counted.
class IdleClock {
 public:
  using Clock = std::chrono::steady_clock;
  explicit IdleClock(Clock::time_point start) : last_(start) {}
  // For how long none of the threads of these processes did anything, since the start.
  std::chrono::nanoseconds sample(std::span<const pid_t> processes, Clock::time_point now);

 private:
  struct Thread {
    std::int64_t busy_ns = 0;              // run and waited, at the last sample
    std::chrono::nanoseconds idle_then{};  // idle_ when that was last seen to grow
  };
  Clock::time_point last_;
  std::chrono::nanoseconds idle_{0};
  std::map<pid_t, Thread> threads_;
};

// Whether it is there and none of its threads runs or waits for a CPU just now. Of one that does, a
// wait is missing in the clock; of one that has ended, it stays missing.
bool is_asleep(pid_t process);

// "<ns on a CPU> <ns waiting for one> <slices>" of schedstat → the sum of the first two.
std::optional<std::int64_t> busy_ns_of(std::string_view schedstat);

}  // namespace nb::sandbox
