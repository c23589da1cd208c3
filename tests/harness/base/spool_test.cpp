#include "harness/base/spool.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <thread>
#include <utility>
#include <vector>

namespace nb {
namespace {

struct Pair {
  double a = 0, b = 0;
};

std::vector<std::int64_t> all_of(const Spool<std::int64_t>& spool) {
  std::vector<std::int64_t> values;
  spool.for_each([&](std::int64_t value) { values.push_back(value); });
  return values;
}

std::vector<std::int64_t> counted(std::int64_t first, std::int64_t count) {
  std::vector<std::int64_t> values;
  for (std::int64_t i = 0; i < count; ++i) values.push_back(first + i);
  return values;
}

TEST(Spool, GivesBackWhatWasPutInAsOftenAsAsked) {
  // A block holds 8192 of them: none, one, a block less one, a block, several and a rest.
  for (const std::int64_t count : {0, 1, 8191, 8192, 8193, 50000}) {
    Spool<std::int64_t> spool;
    for (const std::int64_t value : counted(7, count)) spool.push_back(value);
    EXPECT_EQ(spool.size(), static_cast<std::size_t>(count));
    EXPECT_EQ(spool.empty(), count == 0);
    for (int walk = 0; walk < 2; ++walk) EXPECT_EQ(all_of(spool), counted(7, count));
  }
}

TEST(Spool, AValueThatDoesNotDivideABlockIsWhole) {
  struct Odd {
    std::int64_t value;
    char rest[40];
  };
  Spool<Odd> spool;
  for (std::int64_t i = 0; i < 5000; ++i) spool.push_back({i, {}});
  std::int64_t expected = 0;
  spool.for_each([&](const Odd& odd) { EXPECT_EQ(odd.value, expected++); });
  EXPECT_EQ(expected, 5000);
}

TEST(Spool, ACopyGoesItsOwnWayAndPlacesAreUsedAgain) {
  Spool<std::int64_t> one;
  for (const std::int64_t value : counted(0, 20000)) one.push_back(value);
  Spool<std::int64_t> other = one;
  for (const std::int64_t value : counted(20000, 20000)) other.push_back(value);
  one = {};
  Spool<std::int64_t> third;  // takes the places that nobody holds now, not those that `other` does
  for (const std::int64_t value : counted(-30000, 30000)) third.push_back(value);
  EXPECT_EQ(all_of(other), counted(0, 40000));
  EXPECT_EQ(all_of(third), counted(-30000, 30000));
  EXPECT_EQ(all_of(Spool<std::int64_t>(std::move(other))), counted(0, 40000));
}

TEST(Spool, ThreadsHaveTheirOwnPlaces) {
  std::vector<Spool<std::int64_t>> spools(4);
  std::vector<std::thread> threads;
  for (std::int64_t t = 0; t < 4; ++t)
    threads.emplace_back([&spools, t] {
      for (const std::int64_t value : counted(t * 1'000'000, 100'000))
        spools[static_cast<std::size_t>(t)].push_back(value);
    });
  for (std::thread& thread : threads) thread.join();
  for (std::int64_t t = 0; t < 4; ++t)
    EXPECT_EQ(all_of(spools[static_cast<std::size_t>(t)]), counted(t * 1'000'000, 100'000));
}

std::int64_t resident_bytes() {
  std::ifstream file("/proc/self/statm");
  std::int64_t size = 0, resident = 0;
  file >> size >> resident;
  return resident * ::getpagesize();
}

TEST(Spool, MemoryDoesNotGrowWithTheValues) {
  Spool<Pair> spool;
  const std::int64_t before = resident_bytes();
  for (int i = 0; i < 4'000'000; ++i) spool.push_back({1.0 * i, -1.0 * i});  // 64 MB
  double sum = 0;
  spool.for_each([&](const Pair& pair) { sum += pair.a + pair.b; });
  EXPECT_EQ(sum, 0);
  EXPECT_LT(resident_bytes() - before, 16 << 20);
}

// Ends the process: 0 when all comes back.
[[noreturn]] void spool_and_exit() {
  Spool<std::int64_t> spool;
  for (const std::int64_t value : counted(0, 100'000)) spool.push_back(value);
  std::_Exit(all_of(spool) == counted(0, 100'000) ? 0 : 1);
}
[[noreturn]] void spool_without_a_folder() {
  ::setenv("TMPDIR", "/proc", 1);  // is there, and takes no file
  spool_and_exit();
}
[[noreturn]] void spool_on_a_full_disk() {
  static_cast<void>(::signal(SIGXFSZ, SIG_IGN));
  const rlimit limit{200'000, 200'000};  // three blocks
  ::setrlimit(RLIMIT_FSIZE, &limit);
  spool_and_exit();
}

// In other processes, since the file is opened once.
TEST(SpoolDeathTest, StaysInMemoryWhereNoFileCanBeWritten) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(spool_without_a_folder(), testing::ExitedWithCode(0), "");
  EXPECT_EXIT(spool_on_a_full_disk(), testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace nb
