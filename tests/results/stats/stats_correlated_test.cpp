#include "results/stats/stats_correlated.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

namespace nb {
namespace {

std::vector<double> walk(int n, double keep, double offset, std::mt19937_64& random) {
  std::normal_distribution<double> normal;
  std::vector<double> values;
  double state = normal(random) / std::sqrt(1 - keep * keep);
  for (int i = 0; i < n; ++i) {
    state = keep * state + normal(random);
    values.push_back(offset + state);
  }
  return values;
}

TEST(CorrelatedMean, NeedsValuesThatTellMoreThanOneAnother) {
  EXPECT_FALSE(correlated_mean(std::vector<double>(11, 1.)));
  std::vector<double> line;
  for (int i = 0; i < 100; ++i) line.push_back(i);
  EXPECT_FALSE(correlated_mean(line));
}

TEST(CorrelatedMean, WithoutAnySpreadIsTheSignTest) {
  const auto test = correlated_mean(std::vector<double>(12, .5));
  ASSERT_TRUE(test);
  EXPECT_EQ(test->difference, .5);
  EXPECT_NEAR(test->p_two_sided, 1 / 2048., 1e-12);
}

// Student's test on the same values calls a third of those that are alike.
TEST(CorrelatedMean, IsSeldomWrongWhateverTheLikeness) {
  std::mt19937_64 random(21);
  for (const double keep : {0., .3, .6, .8, .9, .95})
    for (const int n : {30, 100, 400}) {
      constexpr int kRounds = 1000;
      int wrong = 0;
      for (int round = 0; round < kRounds; ++round)
        if (const auto test = correlated_mean(walk(n, keep, 0, random)))
          wrong += test->p_two_sided <= .05 ? 1 : 0;
      // 5 % and three standard errors of it.
      EXPECT_LE(wrong, 71) << keep << ", " << n << " values";
    }
}

TEST(CorrelatedMean, FindsWhatIsThere) {
  std::mt19937_64 random(22);
  int found = 0;
  for (int round = 0; round < 200; ++round) {
    const auto test = correlated_mean(walk(200, .6, 1.5, random));
    found += test && test->p_above < .01 ? 1 : 0;
  }
  EXPECT_GE(found, 160);  // power of .8
}

}  // namespace
}  // namespace nb
