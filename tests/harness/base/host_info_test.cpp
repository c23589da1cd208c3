#include "harness/base/host_info.hpp"

#include <gtest/gtest.h>
#include <sched.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <thread>

#include "tests/support/temp_dir.hpp"

namespace nb {
namespace {

TEST(HostInfo, NamesThisComputer) {
  const HostInfo info = host_info();
  EXPECT_FALSE(info.cpu.empty());
  EXPECT_FALSE(info.kernel.empty());
  EXPECT_FALSE(info.architecture.empty());
  EXPECT_FALSE(info.compiler.empty());
  EXPECT_GE(info.cores, 1);
  EXPECT_GT(info.memory_bytes, std::uint64_t{64} << 20);
  EXPECT_LE(available_memory_bytes(), info.memory_bytes);
  EXPECT_GT(available_memory_bytes(), 0U);
}

// A container with one core of sixty-four must not get sixty-four threads.
TEST(HostInfo, UsableCoresAreThoseTheProcessMayRunOn) {
  cpu_set_t before;
  ASSERT_EQ(::sched_getaffinity(0, sizeof(before), &before), 0);
  const test::TempDir none;
  EXPECT_EQ(usable_cores(none.path()), CPU_COUNT(&before));
  std::thread([&none] {  // affinity is a thread's own
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(static_cast<unsigned>(::sched_getcpu()), &one);
    ASSERT_EQ(::sched_setaffinity(0, sizeof(one), &one), 0);
    EXPECT_EQ(usable_cores(none.path()), 1);
  })
      .join();
}

TEST(HostInfo, AQuotaOfTimeIsRoundedUpToCores) {
  const test::TempDir folder;
  const int all = usable_cores(folder.path());
  const auto with_file = [&](const char* name, const char* text) {
    std::filesystem::create_directories((folder.path() / name).parent_path());
    std::ofstream(folder.path() / name) << text;
    return usable_cores(folder.path());
  };
  EXPECT_EQ(with_file("cpu/cpu.cfs_quota_us", "-1\n"), all);
  EXPECT_EQ(with_file("cpu/cpu.cfs_period_us", "100000\n"), all);
  EXPECT_EQ(with_file("cpu/cpu.cfs_quota_us", "100000\n"), 1);
  EXPECT_EQ(with_file("cpu/cpu.cfs_quota_us", "50000\n"), 1);
  EXPECT_EQ(with_file("cpu.max", "max 100000\n"), all);  // where it is, it counts
  EXPECT_EQ(with_file("cpu.max", "30000 100000\n"), 1);
  EXPECT_EQ(with_file("cpu.max", "110000 100000\n"), std::min(all, 2));
  EXPECT_EQ(with_file("cpu.max", "6400000 100000\n"), std::min(all, 64));
  EXPECT_EQ(with_file("cpu.max", "nonsense\n"), all);
}

TEST(HostInfo, TimeIsUtcToTheSecond) {
  const std::string time = utc_time_text();
  ASSERT_EQ(time.size(), 20U);
  EXPECT_EQ(time[4], '-');
  EXPECT_EQ(time[10], 'T');
  EXPECT_EQ(time[19], 'Z');
  EXPECT_GE(time, "2024-01-01T00:00:00Z");
}

}  // namespace
}  // namespace nb
