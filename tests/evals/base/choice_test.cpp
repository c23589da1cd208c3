#include "evals/base/choice.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace nb {
namespace {

const float kNan = std::numeric_limits<float>::quiet_NaN();

std::size_t best(std::vector<float> means) { return best_choice(means); }
std::size_t second(std::vector<float> means) { return second_best_choice(means); }

TEST(Choice, MeanIsOverTheSpan) {
  EXPECT_EQ(mean_log_prob(std::vector<float>{-1.0f, -2.0f, -4.5f}), -2.5f);
  EXPECT_TRUE(std::isnan(mean_log_prob({})));
}

TEST(Choice, HighestMeanWinsFirstAmongEquals) {
  EXPECT_EQ(best({-3, -1, -2}), 1u);
  EXPECT_EQ(best({-1, -1, -1}), 0u);
  EXPECT_EQ(best({-2, -1, -1}), 1u);
}

// Python: min([nan, 1]) is nan, min([1, nan]) is 1.
TEST(Choice, NanWinsInFrontAndNeverElsewhere) {
  EXPECT_EQ(best({kNan, -1, -2}), 0u);
  EXPECT_EQ(best({-5, kNan, -6}), 0u);
  EXPECT_EQ(best({-5, kNan, -4}), 2u);
}

// Every order of them, against Python itself: tests/evals/core/prefix_choices_test.cpp.
TEST(Choice, WithoutTokensDecidesWhatNanDecides) {
  EXPECT_EQ(decided_by_rule({true, false}, 0), true);
  EXPECT_EQ(decided_by_rule({true, false}, 1), false);
  EXPECT_EQ(decided_by_rule({false, true}, 0), true);
  EXPECT_EQ(decided_by_rule({false, true, false}, 2), std::nullopt);
  EXPECT_EQ(decided_by_rule({false, true, true}, 0), true);
  EXPECT_EQ(decided_by_rule({false, false}, 1), std::nullopt);
}

TEST(Choice, SecondBestIsTheBestOfTheOthers) {
  EXPECT_EQ(second({-3, -1, -2}), 2u);
  EXPECT_EQ(second({-1, -1, -1}), 1u);
  EXPECT_EQ(second({-1, -2}), 1u);
  EXPECT_EQ(second({-2, -1}), 0u);
  EXPECT_EQ(second({kNan, -4, -3}), 2u);
  EXPECT_EQ(second({-1}), 0u);
}

TEST(Choice, FaultPicksTheSecondBest) {
  const std::vector<float> means = {-3, -1, -2};
  EXPECT_EQ(chosen(means, ScorerFault::kNone), 1u);
  EXPECT_EQ(chosen(means, ScorerFault::kSecondBest), 2u);
}

TEST(TorchArgmax, TiesGoToTheFirstAndNanIsHighest) {
  EXPECT_EQ(torch_argmax(std::vector<float>{-1, -1, -2}), 0u);
  EXPECT_EQ(torch_argmax(std::vector<float>{-2, -1, -1}), 1u);
  EXPECT_EQ(torch_argmax(std::vector<float>{-1, kNan, 5, kNan}), 1u);
  EXPECT_EQ(torch_argmax(std::vector<float>{-std::numeric_limits<float>::infinity()}), 0u);
}

}  // namespace
}  // namespace nb
