// What this computer is: for a record's environment, never for a metric.
#pragma once

#include <cstdint>
#include <filesystem>
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
// Cores this process may run on now, at least 1: fewer than the host's under taskset, and where a
// container has some of them only, or time of some only (cpu.max of cgroup v2, cpu.cfs_quota_us of
// v1, below the folder; rounded up to whole cores).
int usable_cores(const std::filesystem::path& cgroups = "/sys/fs/cgroup");
std::uint64_t available_memory_bytes();  // MemAvailable
std::string utc_time_text();             // 2026-11-21T17:05:00Z

}  // namespace nb
