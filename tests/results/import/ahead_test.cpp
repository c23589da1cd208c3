// What is parsed ahead is taken in order, once, and up to the first error, with any threads.
#include "results/foreign/ahead.hpp"

#include <gtest/gtest.h>

#include <string>

namespace nb::test {
namespace {

constexpr std::size_t kPieceBytes = 50'000;  // a few pieces a batch
constexpr int kPieces = 1000;

class AheadOf : public testing::TestWithParam<int> {
 protected:
  void SetUp() override {
    before_ = threads();
    set_threads(GetParam());
  }
  void TearDown() override { set_threads(before_); }

 private:
  int before_ = 0;
};

Result<std::string> parse(const int& piece) {
  return piece < 0 ? Result<std::string>(bad_input("no number")) : std::to_string(piece);
}

TEST_P(AheadOf, PiecesAreTakenInOrderEachOnce) {
  std::vector<std::string> taken;
  Ahead<int, std::string> ahead(parse, [&](const int&, std::string&& text) -> Result<void> {
    taken.push_back(std::move(text));
    return {};
  });
  for (int i = 0; i < kPieces; ++i) ASSERT_TRUE(ahead.add(i, kPieceBytes));
  ASSERT_TRUE(ahead.finish());
  ASSERT_EQ(taken.size(), std::size_t{kPieces});
  for (int i = 0; i < kPieces; ++i)
    EXPECT_EQ(taken[static_cast<std::size_t>(i)], std::to_string(i));
}

// The 501st piece is no number; the caller finds an error of its own behind the last one.
TEST_P(AheadOf, NothingBehindTheFirstErrorIsTaken) {
  int taken = 0;
  Ahead<int, std::string> ahead(parse, [&](const int&, std::string&&) -> Result<void> {
    ++taken;
    return {};
  });
  Result<void> added;
  for (int i = 0; i < kPieces && added; ++i) added = ahead.add(i == 500 ? -1 : i, kPieceBytes);
  const Result<void> end =
      ahead.finish(added ? Result<void>(bad_input("the text ends early")) : added);
  ASSERT_FALSE(end);
  EXPECT_EQ(end.error().message, "no number");
  EXPECT_EQ(taken, 500);
}

TEST_P(AheadOf, WhatIsNotTakenEndsItToo) {
  int taken = 0;
  Ahead<int, std::string> ahead(parse, [&](const int& piece, std::string&&) -> Result<void> {
    ++taken;
    return piece == 7 ? Result<void>(bad_input("a second 7")) : Result<void>{};
  });
  Result<void> added;
  for (int i = 0; i < kPieces && added; ++i) added = ahead.add(i, kPieceBytes);
  EXPECT_EQ(ahead.finish(added).error().message, "a second 7");
  EXPECT_EQ(taken, 8);
}

// A reader that gives up in the middle: the other thread ends with it.
TEST_P(AheadOf, ItMayBeLeftAtAnyTime) {
  Ahead<int, std::string> ahead(parse,
                                [](const int&, std::string&&) -> Result<void> { return {}; });
  for (int i = 0; i < 17; ++i) ASSERT_TRUE(ahead.add(i, kPieceBytes));
}

INSTANTIATE_TEST_SUITE_P(Threads, AheadOf, testing::Values(1, 2, 8));

}  // namespace
}  // namespace nb::test
