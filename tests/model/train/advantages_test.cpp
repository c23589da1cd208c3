// Advantages worked out by hand, for two groups of four.
#include "model/train/advantages.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "harness/base/check.hpp"

namespace nb {
namespace {

constexpr std::array kRewards = {0.0, 1.0, 0.0, 1.0, 1.0, 0.0, 0.0, 0.0};

std::vector<double> advantages(AdvantageKind kind) { return *group_advantages(kRewards, 4, kind); }

void expect_near(const std::vector<double>& actual, const std::array<double, 8>& expected) {
  ASSERT_EQ(actual.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(actual[i], expected[i], 1e-12) << i;
}

TEST(Advantages, AreRewardsLessTheMean) {
  expect_near(advantages(AdvantageKind::kMean), {-0.5, 0.5, -0.5, 0.5, 0.75, -0.25, -0.25, -0.25});
}

TEST(Advantages, AreDividedByTheDeviation) {  // 1/√3 and 1/2
  const double first = 0.5 / (std::sqrt(1.0 / 3) + 1e-8), unit = 0.25 / (0.5 + 1e-8);
  expect_near(advantages(AdvantageKind::kMeanStd),
              {-first, first, -first, first, 3 * unit, -unit, -unit, -unit});
}

TEST(Advantages, LeaveTheSampleItselfOut) {
  const double third = 1.0 / 3;
  expect_near(advantages(AdvantageKind::kLeaveOneOut),
              {-2 * third, 2 * third, -2 * third, 2 * third, 1, -third, -third, -third});
}

TEST(Advantages, AreTheRewards) {
  expect_near(advantages(AdvantageKind::kNone), {0, 1, 0, 1, 1, 0, 0, 0});
  EXPECT_EQ(*group_advantages(std::array{2.0, 3.0}, 1, AdvantageKind::kNone),
            (std::vector<double>{2, 3}));
}

TEST(Advantages, OfEqualRewardsAreExactlyZero) {
  constexpr std::array kEqual = {0.1, 0.1, 0.1};  // whose sum is not three times 0.1
  for (const auto kind :
       {AdvantageKind::kMean, AdvantageKind::kMeanStd, AdvantageKind::kLeaveOneOut})
    EXPECT_EQ(*group_advantages(kEqual, 3, kind), std::vector<double>(3, 0.0)) << name(kind);
}

TEST(Advantages, NeedWholeGroupsOfMoreThanOne) {
  for (const std::int64_t size : {0, -4, 3, 5}) {
    const auto result = group_advantages(kRewards, size, AdvantageKind::kMean);
    ASSERT_FALSE(result) << size;
    EXPECT_EQ(result.error().code, ErrorCode::kBadInput);
  }
  for (const auto kind :
       {AdvantageKind::kMean, AdvantageKind::kMeanStd, AdvantageKind::kLeaveOneOut})
    EXPECT_FALSE(group_advantages(kRewards, 1, kind)) << name(kind);
}

TEST(RolloutSigns, EqualRewardsTeachNothing) {
  EXPECT_EQ(equal_reward_share(kRewards, 4), 0);
  EXPECT_EQ(equal_reward_share(kRewards, 2), 0.25);  // the last of four
  EXPECT_EQ(equal_reward_share(kRewards, 1), 1);
  EXPECT_EQ(equal_reward_share({}, 4), 0);
  EXPECT_THROW(equal_reward_share(kRewards, 3), CheckFailure);
}

TEST(RolloutSigns, TheRatioMovesAfterTheFirstUpdate) {
  const ops::PolicyMetrics still = {.tokens = 5, .ratio_min = 1, .ratio_max = 1, .ratio_mean = 1};
  const ops::PolicyMetrics moved = {
      .tokens = 5, .ratio_min = 0.99, .ratio_max = 1, .ratio_mean = 1};
  EXPECT_FALSE(is_ratio_stuck(still, 0));
  EXPECT_TRUE(is_ratio_stuck(still, 1));
  EXPECT_FALSE(is_ratio_stuck(moved, 1));
  EXPECT_FALSE(is_ratio_stuck({}, 1));
}

TEST(RolloutSigns, SamplersAgeUntilTheyGetNewWeights) {
  EXPECT_EQ(sampler_age(std::array<std::int64_t, 3>{4, 6, 5}, 6), 2);
  EXPECT_EQ(sampler_age(std::array<std::int64_t, 1>{6}, 6), 0);
  EXPECT_EQ(sampler_age({}, 6), 0);
  EXPECT_THROW(sampler_age(std::array<std::int64_t, 1>{7}, 6), CheckFailure);
}

}  // namespace
}  // namespace nb
