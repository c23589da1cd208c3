#include "harness/base/host_info.hpp"

#include <gtest/gtest.h>
#include <sched.h>

#include <thread>

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
  EXPECT_EQ(usable_cores(), CPU_COUNT(&before));
  std::thread([] {  // affinity is a thread's own
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(static_cast<unsigned>(::sched_getcpu()), &one);
    ASSERT_EQ(::sched_setaffinity(0, sizeof(one), &one), 0);
    EXPECT_EQ(usable_cores(), 1);
  })
      .join();
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
