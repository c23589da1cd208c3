#include "harness/base/host_info.hpp"

#include <fmt/core.h>
#include <sched.h>
#include <sys/utsname.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <ctime>
#include <fstream>
#include <sstream>
#include <string_view>
#include <thread>

namespace nb {

namespace {

// Value of the first "key : value" line of a file under /proc, or empty.
std::string proc_value(const char* path, std::string_view key) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (!std::string_view(line).starts_with(key)) continue;
    const auto start = line.find_first_not_of(" \t:", key.size());
    return start == line.npos ? "" : line.substr(start);
  }
  return {};
}

std::uint64_t meminfo_bytes(std::string_view key) {
  std::istringstream text(proc_value("/proc/meminfo", key));
  std::uint64_t size_kib = 0;
  text >> size_kib;
  return size_kib * 1024;
}

// 0: no limit.
double cores_of_quota(const std::filesystem::path& cgroups) {
  double quota = 0, period = 0;  // "max" reads as 0, v1 says -1
  if (std::ifstream version2(cgroups / "cpu.max"); version2) {
    version2 >> quota >> period;
  } else {
    std::ifstream(cgroups / "cpu/cpu.cfs_quota_us") >> quota;
    std::ifstream(cgroups / "cpu/cpu.cfs_period_us") >> period;
  }
  return quota > 0 && period > 0 ? quota / period : 0.0;
}

}  // namespace

HostInfo host_info() {
  HostInfo info;
  struct utsname names {};
  if (::uname(&names) == 0) {
    info.kernel = names.release;
    info.architecture = names.machine;
  }
  info.cpu = proc_value("/proc/cpuinfo", "model name");
  if (info.cpu.empty()) {  // ARM names its parts by number
    info.cpu = fmt::format("{} implementer {} part {}", info.architecture,
                           proc_value("/proc/cpuinfo", "CPU implementer"),
                           proc_value("/proc/cpuinfo", "CPU part"));
  }
  info.cores = static_cast<int>(std::thread::hardware_concurrency());
  info.memory_bytes = meminfo_bytes("MemTotal");
  info.compiler = __VERSION__;
  return info;
}

int usable_cores(const std::filesystem::path& cgroups) {
  int count = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  cpu_set_t cores;  // of at most 1024; a larger host's does not fit, and counts as unknown
  CPU_ZERO(&cores);
  if (::sched_getaffinity(0, sizeof(cores), &cores) == 0) count = CPU_COUNT(&cores);
  const double time = cores_of_quota(cgroups);
  return time > 0 ? std::min(count, static_cast<int>(std::ceil(std::min(time, 1e6)))) : count;
}

std::uint64_t available_memory_bytes() { return meminfo_bytes("MemAvailable"); }

std::string utc_time_text() {
  const std::time_t now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  std::tm parts{};
  ::gmtime_r(&now, &parts);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z", parts.tm_year + 1900, parts.tm_mon + 1,
                     parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec);
}

}  // namespace nb
