// The parts that a sandbox is made of, each alone.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <optional>
#include <string>
#include <thread>

#include "evals/sandbox/guard.hpp"
#include "evals/sandbox/guard_wire.hpp"
#include "evals/sandbox/idle_clock.hpp"
#include "evals/sandbox/landlock.hpp"
#include "evals/sandbox/launch.hpp"
#include "evals/sandbox/scratch.hpp"
#include "evals/sandbox/system_call_filter.hpp"
#include "harness/base/fs.hpp"
#include "tests/support/temp_dir.hpp"

namespace nb::sandbox {
namespace {

TEST(SystemCallFilter, IsAListOfInstructionsThatTheKernelTakes) {
  const auto filter = system_call_filter();
  ASSERT_TRUE(filter) << filter.error().message;
  EXPECT_EQ(filter->size() % 8, 0U);
  EXPECT_GT(filter->size() / 8, 100U);
  EXPECT_LE(filter->size() / 8, 4096U);
}

TEST(IdleClock, AddsTimeOnACpuAndWaitingForOne) {
  EXPECT_EQ(busy_ns_of("120 30 7\n"), 150);
  EXPECT_EQ(busy_ns_of("120"), std::nullopt);
  EXPECT_EQ(busy_ns_of(""), std::nullopt);
  EXPECT_EQ(busy_ns_of("a b c"), std::nullopt);
}

TEST(IdleClock, CountsSleepAndNothingElse) {
  if (!can_tell_idle_from_waiting()) GTEST_SKIP() << "the kernel keeps no scheduler statistics";
  using std::chrono::milliseconds;
  // Of a process that is gone, all time is idle; of one that works, nearly none.
  const std::array nobody = {pid_t{0x7ffffffe}};
  const std::array us = {::getpid()};
  const auto start = IdleClock::Clock::now();
  IdleClock gone(start);
  EXPECT_EQ(gone.sample(nobody, start + milliseconds(50)), milliseconds(50));
  EXPECT_EQ(gone.sample(nobody, start + milliseconds(70)), milliseconds(70));
  IdleClock working(IdleClock::Clock::now());
  volatile std::uint64_t sum = 0;
  const auto begin = IdleClock::Clock::now();
  while (IdleClock::Clock::now() - begin < milliseconds(200)) sum = sum + 1;
  const auto idle_at_work = working.sample(us, IdleClock::Clock::now());
  EXPECT_LT(idle_at_work, milliseconds(150));
  // What was done before the last sample is not counted again.
  std::this_thread::sleep_for(milliseconds(60));
  const auto idle = working.sample(us, IdleClock::Clock::now()) - idle_at_work;
  EXPECT_GT(idle, milliseconds(30));
}

std::optional<std::int64_t> busy_of(pid_t process) {
  return busy_ns_of(read_file("/proc/" + std::to_string(process) + "/schedstat").value_or(""));
}

// The kernel tells of a wait when it is over, long after the samples in which it passed: on a busy
// host a program that never slept was stopped for sleeping.
TEST(IdleClock, AWaitThatIsSeenLateIsNotIdle) {
  if (!can_tell_idle_from_waiting()) GTEST_SKIP() << "the kernel keeps no scheduler statistics";
  // One that hardly ever gets the CPU, behind one that always has it.
  const auto busy = [](int policy) {
    const pid_t pid = ::fork();
    if (pid != 0) return pid;
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    cpu_set_t first;
    CPU_ZERO(&first);
    CPU_SET(::sched_getcpu(), &first);
    const sched_param none{};
    ::sched_setaffinity(0, sizeof(first), &first);
    ::sched_setscheduler(0, policy, &none);
    for (volatile std::uint64_t sum = 0;;) sum = sum + 1;
  };
  cpu_set_t before, here;
  ::sched_getaffinity(0, sizeof(before), &before);
  CPU_ZERO(&here);
  CPU_SET(::sched_getcpu(), &here);
  ::sched_setaffinity(0, sizeof(here), &here);
  const std::array waits = {busy(SCHED_IDLE)};
  const pid_t works = busy(SCHED_OTHER);
  ::sched_setaffinity(0, sizeof(before), &before);
  const auto start = IdleClock::Clock::now();
  IdleClock clock(start);
  std::chrono::nanoseconds idle{};
  const auto sample_for = [&](std::chrono::milliseconds time) {
    for (const auto begin = IdleClock::Clock::now(); IdleClock::Clock::now() - begin < time;) {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      idle = clock.sample(waits, IdleClock::Clock::now());
    }
  };
  sample_for(std::chrono::milliseconds(1500));
  EXPECT_FALSE(is_asleep(waits[0]));
  const auto has_run = [&, before = busy_of(waits[0])] { return busy_of(waits[0]) != before; };
  ::kill(works, SIGKILL);
  // On a busy host it still waits for others.
  for (int tries = 0; tries < 100 && !has_run(); ++tries)
    sample_for(std::chrono::milliseconds(200));
  sample_for(std::chrono::milliseconds(200));
  const std::chrono::nanoseconds passed = IdleClock::Clock::now() - start;
  for (const pid_t one : {waits[0], works}) {
    ::kill(one, SIGKILL);
    ::waitpid(one, nullptr, 0);
  }
  EXPECT_LT(idle, passed / 3);
  EXPECT_FALSE(is_asleep(waits[0]));  // it has ended
}

TEST(Landlock, OlderVersionsLeaveMoreOpen) {
  EXPECT_GT(landlock_gaps(1).size(), landlock_gaps(7).size());
  EXPECT_FALSE(landlock_gaps(7).empty());
}

TEST(Launch, NamesTheStepThatFailed) {
  LaunchPlan plan;
  plan.argv = {"/nothing/here"};
  ChildDescriptors descriptors;
  descriptors.fill(-1);
  const auto missing = launch(plan, descriptors);
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().message,
            "sandbox: /nothing/here failed at starting: No such file or directory");
  plan.argv = {"/bin/true"};
  plan.has_folder = true;
  descriptors[kFolder] = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  const auto folder = launch(plan, descriptors);
  ::close(descriptors[kFolder]);
  ASSERT_FALSE(folder);
  EXPECT_NE(folder.error().message.find("entering its folder"), std::string::npos);
}

// What reaches the guard is the plan, word for word.
TEST(GuardWire, PlansArriveAsTheyWere) {
  StartRequest request;
  request.plan.argv = {"/bin/x", "", std::string("a\0b", 3), std::string(200'000, 'x')};
  request.plan.environment = {"A=1"};
  request.plan.limits = {{1, 2, 3}, {4, 5, ~std::uint64_t{0}}};
  request.plan.becomes_nobody = request.plan.has_folder = true;
  request.plan.filter = std::string("\0\1\2", 3);
  request.has_descriptor = {true, false, true};
  const auto arrived = unpacked(packed(request)).start;
  ASSERT_TRUE(arrived);
  EXPECT_EQ(arrived->plan.argv, request.plan.argv);
  EXPECT_EQ(arrived->plan.environment, request.plan.environment);
  ASSERT_EQ(arrived->plan.limits.size(), 2U);
  EXPECT_EQ(arrived->plan.limits[1].hard, ~std::uint64_t{0});
  EXPECT_TRUE(arrived->plan.becomes_nobody && arrived->plan.has_folder && !arrived->plan.has_rules);
  EXPECT_EQ(arrived->plan.filter, request.plan.filter);
  EXPECT_EQ(arrived->has_descriptor, request.has_descriptor);
}

TEST(Scratch, IsRemovedWhateverIsInIt) {
  const test::TempDir outside;
  ASSERT_TRUE(write_file(outside / "file", "stays"));
  auto scratch = Scratch::create(/*for_nobody=*/false);
  ASSERT_TRUE(scratch) << scratch.error().message;
  const fs::path path = scratch->path();
  fs::create_directories(path / "a" / "b" / "c");
  ASSERT_TRUE(write_file(path / "a" / "file", "x"));
  fs::create_directory_symlink(outside.path(), path / "a" / "link");
  fs::create_symlink(outside / "file", path / "link");
  fs::create_directory(path / "closed");
  ASSERT_TRUE(write_file(path / "closed" / "file", "x"));
  fs::create_directories(path / "closed" / "inner" / "deeper");
  ASSERT_EQ(::chmod((path / "closed" / "inner" / "deeper").c_str(), 0), 0);
  ASSERT_EQ(::chmod((path / "closed" / "inner").c_str(), 0), 0);
  ASSERT_EQ(::chmod((path / "closed").c_str(), 0), 0);
  ASSERT_TRUE(scratch->remove());
  EXPECT_FALSE(fs::exists(path));
  EXPECT_EQ(read_file(outside / "file").value(), "stays");
}

TEST(Scratch, NoticesTooMuchTooManyTooDeep) {
  auto scratch = Scratch::create(/*for_nobody=*/false);
  ASSERT_TRUE(scratch) << scratch.error().message;
  ASSERT_TRUE(write_file(scratch->path() / "one", std::string(600, 'x')));
  EXPECT_FALSE(scratch->is_over(1000, 0));
  ASSERT_TRUE(write_file(scratch->path() / "folder" / "two", std::string(600, 'x')));
  EXPECT_TRUE(scratch->is_over(1000, 0));
  EXPECT_FALSE(scratch->is_over(2000, 0));
  fs::path deep = scratch->path();
  for (int i = 0; i < 20; ++i) deep /= "d";
  fs::create_directories(deep);
  EXPECT_TRUE(scratch->is_over(1'000'000, 0));
}

}  // namespace
}  // namespace nb::sandbox
