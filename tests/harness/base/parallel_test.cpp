#include "harness/base/parallel.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <mutex>
#include <set>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include "harness/base/check.hpp"

namespace nb {
namespace {

class Parallel : public testing::TestWithParam<int> {
 protected:
  void SetUp() override { set_threads(GetParam()); }
  void TearDown() override { set_threads(0); }
};

TEST_P(Parallel, EachIndexIsVisitedOnce) {
  for (const std::size_t count : {0, 1, 2, 7, 64, 1000}) {
    for (const std::size_t grain : {1, 3, 64, 5000}) {
      std::vector<std::atomic<int>> visits(count);
      parallel_for(count, grain, [&](std::size_t i) { ++visits[i]; });
      EXPECT_TRUE(std::all_of(visits.begin(), visits.end(), [](const auto& v) { return v == 1; }))
          << count << " by " << grain;
    }
  }
}

TEST_P(Parallel, ChunksAreCutByShape) {
  std::mutex lock;
  std::set<std::pair<std::size_t, std::size_t>> chunks;
  parallel_chunks(10, 4, [&](std::size_t begin, std::size_t end) {
    const std::lock_guard guard(lock);
    chunks.emplace(begin, end);
  });
  EXPECT_EQ(chunks, (std::set<std::pair<std::size_t, std::size_t>>{{0, 4}, {4, 8}, {8, 10}}));
}

TEST_P(Parallel, ExceptionsReachTheCaller) {
  EXPECT_THROW(parallel_for(100, 1,
                            [](std::size_t i) {
                              if (i == 57) throw std::runtime_error("57");
                            }),
               std::runtime_error);
  int after = 0;
  parallel_for(1, 1, [&](std::size_t) { ++after; });
  EXPECT_EQ(after, 1);
}

TEST_P(Parallel, AFailureStopsTheLoop) {
  std::atomic<std::size_t> begun{0};
  std::atomic<bool> has_failed{false};
  EXPECT_THROW(parallel_for(2000, 1,
                            [&](std::size_t i) {
                              ++begun;
                              if (i == 0) {
                                has_failed = true;
                                throw std::runtime_error("first");
                              }
                              while (!has_failed) std::this_thread::yield();
                              std::this_thread::sleep_for(std::chrono::microseconds(100));
                            }),
               std::runtime_error);
  EXPECT_LT(begun, 2000U);
}

TEST_P(Parallel, NestedLoopsKeepThreadLocalScratch) {
  std::atomic<int> total{0};
  std::atomic<int> overwritten{0};
  parallel_for(16, 1, [&](std::size_t i) {
    thread_local std::size_t scratch = 0;
    scratch = i;
    parallel_for(32, 1, [&](std::size_t) { ++total; });
    if (scratch != i) ++overwritten;  // another outer index ran on this thread meanwhile
  });
  EXPECT_EQ(total, 16 * 32);
  EXPECT_EQ(overwritten, 0);
}

TEST_P(Parallel, SeveralThreadsMayStartLoops) {
  std::atomic<int> total{0};
  std::vector<std::thread> ranks;
  for (int r = 0; r < 3; ++r)
    ranks.emplace_back([&] { parallel_for(100, 1, [&](std::size_t) { ++total; }); });
  for (std::thread& rank : ranks) rank.join();
  EXPECT_EQ(total, 300);
}

INSTANTIATE_TEST_SUITE_P(Threads, Parallel, testing::Values(1, 2, 5),
                         testing::PrintToStringParamName());

TEST(ParallelSettings, ThreadsAreWhatWasAskedFor) {
  set_threads(3);
  EXPECT_EQ(threads(), 3);
  set_threads(0);
  EXPECT_GE(threads(), 1);
  EXPECT_THROW(set_threads(-1), CheckFailure);
}

TEST(ParallelSettings, ThreadsThatStartLoopsSideBySideShareThem) {
  set_threads(5);
  {
    const SharedThreads two(2);
    EXPECT_EQ(threads(), 2);
    const SharedThreads eight(8);
    EXPECT_EQ(threads(), 1);
    std::thread([] { EXPECT_EQ(threads(), 5); }).join();
  }
  EXPECT_EQ(threads(), 5);
  EXPECT_THROW(SharedThreads(0), CheckFailure);
  set_threads(0);
}

// Two pieces that wait for each other can only end when two threads run, even on one core.
TEST(ParallelSettings, MoreThreadsThanCoresRun) {
  set_threads(2);
  std::atomic<int> arrived{0};
  parallel_for(2, 1, [&](std::size_t) {
    ++arrived;
    while (arrived < 2) std::this_thread::yield();
  });
  EXPECT_EQ(arrived, 2);
  set_threads(0);
}

bool arrives(const std::atomic<std::size_t>& count, std::size_t wanted) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (count < wanted)
    if (std::chrono::steady_clock::now() > deadline)
      return false;
    else
      std::this_thread::yield();
  return true;
}

// The first piece fails when another thread is inside the loop.
TEST(Parallel, AFailureStopsOtherThreadsToo) {
  for (const int count : {2, 5}) {
    set_threads(count);
    std::atomic<std::size_t> begun{0};
    std::atomic<bool> has_failed{false};
    EXPECT_THROW(parallel_for(2000, 1,
                              [&](std::size_t i) {
                                ++begun;
                                if (i == 0) {
                                  EXPECT_TRUE(arrives(begun, 2));
                                  has_failed = true;
                                  throw std::runtime_error("first");
                                }
                                while (!has_failed) std::this_thread::yield();
                                std::this_thread::sleep_for(std::chrono::microseconds(100));
                              }),
                 std::runtime_error);
    EXPECT_LT(begun, 2000U) << count;
  }
  set_threads(0);
}

TEST(Parallel, MoreThreadsThanTheLoopBeforeHadAreAllThere) {
  for (const int count : {2, 3}) {
    set_threads(count);
    std::atomic<std::size_t> arrived{0};
    const auto wanted = static_cast<std::size_t>(count);
    parallel_for(wanted, 1, [&](std::size_t) {
      ++arrived;
      EXPECT_TRUE(arrives(arrived, wanted)) << count;
    });
  }
  set_threads(0);
}

TEST(Parallel, NoChunkIsEmpty) {
  for (const int threads : {1, 2}) {
    set_threads(threads);
    for (const std::size_t count : {0, 4, 8}) {
      std::mutex lock;
      std::set<std::pair<std::size_t, std::size_t>> chunks;
      parallel_chunks(count, 4, [&](std::size_t begin, std::size_t end) {
        const std::lock_guard guard(lock);
        chunks.emplace(begin, end);
        EXPECT_LT(begin, end);
      });
      EXPECT_EQ(chunks.size(), count / 4);
    }
  }
  set_threads(0);
}

}  // namespace
}  // namespace nb
