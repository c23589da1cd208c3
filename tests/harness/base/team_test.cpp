#include "harness/base/team.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <optional>
#include <stdexcept>
#include <thread>
#include <vector>

namespace nb {
namespace {

using std::chrono::milliseconds;
constexpr auto kLongEnough = std::chrono::seconds(20);

// Pieces that wait here can only end when two threads run them. False: one waited in vain.
class Meeting {
 public:
  bool wait() {
    ++arrived_;
    const auto deadline = std::chrono::steady_clock::now() + kLongEnough;
    while (arrived_ < 2) {
      if (std::chrono::steady_clock::now() > deadline) return false;
      std::this_thread::yield();
    }
    return true;
  }

 private:
  std::atomic<int> arrived_{0};
};

void for_each(Team& team, std::size_t count, const std::function<void(std::size_t)>& piece) {
  team.run(count, [&](Pieces& pieces) {
    while (const auto next = pieces.take()) piece(*next);
  });
}

TEST(Team, EachPieceRunsOnceWhateverTheWorkers) {
  for (const std::size_t workers : {1, 2, 3, 8}) {
    Team team(workers);
    EXPECT_EQ(team.workers(), workers);
    for (const std::size_t count : {0, 1, 2, 7, 1000}) {
      std::vector<std::atomic<int>> visits(count);
      for_each(team, count, [&](std::size_t piece) { ++visits[piece]; });
      for (const auto& visit : visits) EXPECT_EQ(visit, 1) << workers << " workers, " << count;
    }
  }
}

TEST(Team, ManyShortLoopsLoseNoPiece) {
  Team team(2);
  std::vector<int> visits(3);
  for (int loop = 1; loop <= 20000; ++loop) {
    for_each(team, visits.size(), [&](std::size_t piece) { ++visits[piece]; });
    ASSERT_EQ(visits, std::vector<int>(3, loop));
  }
}

TEST(Team, AHelperThatFellAsleepIsWoken) {
  Team team(2);
  for (const int pause_ms : {0, 2, 5, 30, 100}) {
    std::this_thread::sleep_for(milliseconds(pause_ms));
    Meeting meeting;
    for_each(team, 2, [&](std::size_t) { EXPECT_TRUE(meeting.wait()) << pause_ms << " ms"; });
  }
}

// Rows that a worker has written are still in its cache when its part of the next loop reads them.
// The workers begin and end their parts together, so that neither can help the other.
TEST(Team, AWorkerHasTheSamePartOfEveryLoop) {
  Team team(2);
  for (int loop = 0; loop < 50 && !HasFailure(); ++loop) {
    Meeting begin, end;
    std::vector<std::thread::id> worker(8);
    for_each(team, 8, [&](std::size_t piece) {
      worker[piece] = std::this_thread::get_id();
      if (piece % 4 == 0) {
        EXPECT_TRUE(begin.wait());
      }
      if (piece % 4 == 3) {
        EXPECT_TRUE(end.wait());
      }
    });
    for (std::size_t piece = 0; piece < 8; ++piece)
      EXPECT_EQ(worker[piece] == std::this_thread::get_id(), piece < 4) << piece;
  }
}

using Range = Pieces::Range;

TEST(Pieces, WhatIsExpectedIsTakenUnlessAnotherWorkerWasQuicker) {
  std::array<Pieces::Part, 2> parts;
  parts[0].end = 2;
  parts[1].next = 2;
  parts[1].end = 4;
  Pieces first(parts, 0), second(parts, 1);
  EXPECT_EQ(first.take(), 0U);
  EXPECT_EQ(first.expected(1), (Range{1, 2}));
  EXPECT_EQ(first.take(1), (Range{1, 2}));
  EXPECT_EQ(first.expected(1), std::nullopt);  // the other's part: it will take that itself
  EXPECT_EQ(second.take(), 2U);
  EXPECT_EQ(second.expected(1), (Range{3, 4}));
  EXPECT_EQ(first.take(), 3U);  // it was quicker
  EXPECT_EQ(second.expected(1), std::nullopt);
  EXPECT_EQ(second.take(), std::nullopt);
  EXPECT_EQ(first.take(1), std::nullopt);
  EXPECT_EQ(first.expected(1), std::nullopt);
}

TEST(Pieces, OfManyAWorkerTakesFewerTowardsTheEnd) {
  std::array<Pieces::Part, 2> parts;
  parts[0].end = 11;
  parts[1].next = 11;
  parts[1].end = 14;
  Pieces first(parts, 0), second(parts, 1);
  for (const Range& range : {Range{0, 4}, Range{4, 8}, Range{8, 10}, Range{10, 11}}) {
    EXPECT_EQ(first.expected(4), range);
    EXPECT_EQ(first.take(4), range);
  }
  EXPECT_EQ(second.take(4), (Range{11, 13}));
  EXPECT_EQ(first.take(4), (Range{13, 14}));
  EXPECT_EQ(second.take(4), std::nullopt);
}

TEST(Pieces, AWorkerAloneTakesAsManyAsItMay) {
  Pieces::Part all;
  all.end = 7;
  Pieces pieces({&all, 1}, 0);
  EXPECT_EQ(pieces.take(5), (Range{0, 5}));
  EXPECT_EQ(pieces.expected(5), (Range{5, 7}));
  EXPECT_EQ(pieces.take(5), (Range{5, 7}));
  EXPECT_EQ(pieces.take(5), std::nullopt);
}

TEST(Team, SeveralPiecesAtATimeAreEachRunOnce) {
  for (const std::size_t workers : {1, 2, 3, 8}) {
    Team team(workers);
    for (const std::size_t count : {1, 2, 7, 1000}) {
      std::vector<std::atomic<int>> visits(count);
      for (int loop = 1; loop <= 50; ++loop) {
        team.run(count, [&](Pieces& pieces) {
          while (const auto some = pieces.take(5))
            for (std::size_t piece = some->begin; piece < some->end; ++piece) ++visits[piece];
        });
        for (const auto& visit : visits) ASSERT_EQ(visit, loop) << workers << " workers, " << count;
      }
    }
  }
}

TEST(Team, AFailureReachesTheStarterAndLeavesTheTeamWhole) {
  Team team(3);
  for (int loop = 0; loop < 100; ++loop) {
    EXPECT_THROW(for_each(team, 50,
                          [](std::size_t piece) {
                            if (piece % 7 == 3) throw std::runtime_error("3");
                          }),
                 std::runtime_error);
    std::atomic<int> total{0};
    for_each(team, 50, [&](std::size_t) { ++total; });
    ASSERT_EQ(total, 50);
  }
}

// Helpers may be awake, about to sleep or asleep when their team goes.
TEST(Team, ATeamEndsAtAnyMoment) {
  const auto tasks = [] {
    std::size_t count = 0;
    for ([[maybe_unused]] const auto& task : std::filesystem::directory_iterator("/proc/self/task"))
      ++count;
    return count;
  };
  const std::size_t before = tasks();
  for (int round = 0; round < 60; ++round) {
    Team team(4);
    for_each(team, 8, [](std::size_t) {});
    std::this_thread::sleep_for(std::chrono::microseconds(50 * round));
  }
  const auto deadline = std::chrono::steady_clock::now() + kLongEnough;
  while (tasks() > before && std::chrono::steady_clock::now() < deadline)
    std::this_thread::sleep_for(milliseconds(1));
  EXPECT_LE(tasks(), before);  // teams of tests before may have ended meanwhile
}

// The child has no helper of the parent's team, asleep or awake.
TEST(Team, AForkedChildRunsItsLoopsAlone) {
  Team team(3);
  for_each(team, 100, [](std::size_t) {});
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    std::atomic<int> total{0};
    for_each(team, 100, [&](std::size_t) { ++total; });
    std::_Exit(total == 100 ? 7 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 7) << status;
}

}  // namespace
}  // namespace nb
