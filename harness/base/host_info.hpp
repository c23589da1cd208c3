// What this computer is: for a record's environment, never for a metric.
#pragma once

#include <cstdint>
#include <string>

namespace nb {

struct HostInfo {
  std::string cpu;  // model name of /proc/cpuinfo
  int cores = 0;
  std::uint64_t memory_bytes = 0;
  std::string kernel;        // uname -r
  std::string compiler;      // __VERSION__
  std::string architecture;  // x86_64, aarch64
};
HostInfo host_info();
// Cores this process may run on now, at least 1: fewer than the host's under taskset or where a
// container has some of them only.
int usable_cores();
std::uint64_t available_memory_bytes();  // MemAvailable
std::string utc_time_text();             // 2026-11-21T17:05:00Z

}  // namespace nb
