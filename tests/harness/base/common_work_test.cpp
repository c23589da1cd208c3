#include "harness/base/common_work.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <stdexcept>
#include <thread>
#include <vector>

namespace nb {
namespace {

using Vectors = std::vector<std::vector<float>>;

// A function of the bytes, as work has to be.
void double_all(std::span<float> values) {
  for (float& value : values) value *= 2;
}

struct Users {
  explicit Users(int count) : common(count) {}
  // Each of `given` on a thread of its own; how many pieces of work were done.
  int run(std::vector<Vectors>& given, const std::string& kind = "double",
          std::size_t at_once = 1) {
    std::atomic<int> done{0};
    std::vector<std::thread> threads;
    for (Vectors& own : given)
      threads.emplace_back([&] {
        const CommonWork::Scope scope(&common);
        std::vector<std::span<float>> values(own.begin(), own.end());
        const std::vector<std::string> kinds(values.size(), kind);
        CommonWork::of_thread()->run(kinds, values, at_once,
                                     [&](std::span<const std::size_t> some) {
                                       for (const std::size_t i : some) double_all(values[i]);
                                       done += static_cast<int>(some.size());
                                     });
      });
    for (std::thread& thread : threads) thread.join();
    return done;
  }
  CommonWorkOfThreads common;
};

TEST(CommonWork, OfEqualBytesIsDoneOnce) {
  for (const std::size_t at_once : std::vector<std::size_t>{1, 2, 8}) {
    Users users(4);
    std::vector<Vectors> given(4, {{1, 2, 3}, {4, 5}, {6}, {7, 8, 9}});
    EXPECT_EQ(users.run(given, "double", at_once), 4);
    for (const Vectors& own : given)
      EXPECT_EQ(own, (Vectors{{2, 4, 6}, {8, 10}, {12}, {14, 16, 18}}));
  }
}

// -0 equals 0 and differs in a bit, as the last bit of a fraction does.
TEST(CommonWork, OneBitApartIsDoneTwice) {
  Users users(3);
  std::vector<Vectors> given(3, {{1, 0, 3}});
  given[1][0][1] = -0.0F;
  given[2][0][2] = std::nextafter(3.0F, 4.0F);
  const float apart = given[2][0][2];
  EXPECT_EQ(users.run(given), 3);
  EXPECT_TRUE(std::signbit(given[1][0][1]));
  EXPECT_FALSE(std::signbit(given[0][0][1]));
  EXPECT_EQ(given[2][0][2], 2 * apart);
}

// Two kinds of work on the same bytes have nothing in common.
TEST(CommonWork, OfAnotherKindIsNotTaken) {
  CommonWorkOfThreads common(2);
  std::vector<float> a = {3}, b = {3};
  const std::span<float> first = a, second = b;
  const std::string doubled = "double", negated = "negate";
  common.run({&doubled, 1}, {&first, 1}, 1, [&](auto) { a[0] *= 2; });
  common.run({&negated, 1}, {&second, 1}, 1, [&](auto) { b[0] = -b[0]; });
  EXPECT_EQ(a[0], 6);
  EXPECT_EQ(b[0], -3);
}

TEST(CommonWork, EqualValuesOfOneThreadAreDoneOnce) {
  Users users(2);
  std::vector<Vectors> given(1, {{0, 0}, {0, 0}, {1, 0}});
  EXPECT_EQ(users.run(given, "double", 3), 2);
  EXPECT_EQ(given[0], (Vectors{{0, 0}, {0, 0}, {2, 0}}));
}

// One that never comes is waited for by nobody; and one that throws leaves the work to the others.
TEST(CommonWork, WhoThrowsLeavesTheWorkToTheOthers) {
  for (int round = 0; round < 20; ++round) {
    CommonWorkOfThreads common(4);
    std::atomic<int> comers{0}, thrown{0};
    Vectors given(3, {1, 2});
    std::vector<std::thread> threads;
    for (std::vector<float>& own : given)
      threads.emplace_back([&] {
        const std::span<float> values = own;
        const std::string kind = "double";
        try {
          common.run({&kind, 1}, {&values, 1}, 1, [&](auto) {
            if (comers++ == 0) throw std::runtime_error("the first one fails");
            double_all(values);
          });
        } catch (const std::runtime_error&) {
          ++thrown;
        }
      });
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(thrown, 1);
    EXPECT_EQ((given[0][0] == 2) + (given[1][0] == 2) + (given[2][0] == 2), 2);
  }
}

TEST(CommonWork, OutsideOfAScopeNobodyShares) {
  EXPECT_EQ(CommonWork::of_thread(), nullptr);
  CommonWorkOfThreads common(2);
  {
    const CommonWork::Scope scope(&common);
    EXPECT_EQ(CommonWork::of_thread(), &common);
    const CommonWork::Scope none(nullptr);
    EXPECT_EQ(CommonWork::of_thread(), nullptr);
  }
  EXPECT_EQ(CommonWork::of_thread(), nullptr);
}

}  // namespace
}  // namespace nb
