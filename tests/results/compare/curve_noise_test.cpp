#include "results/compare/curve_noise.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace nb {
namespace {

TEST(CurveNoise, ATrendIsNoNoise) {
  std::vector<double> line, curve;
  for (int i = 0; i < 100; ++i) {
    line.push_back(10 - .03 * i);
    curve.push_back(2.5 + 8 * std::exp(-.05 * i));
  }
  EXPECT_NEAR(noise_at_lag(line, 1), 0, 1e-12);
  EXPECT_NEAR(wandering_noise(line), 0, 1e-12);
  EXPECT_LT(noise_at_lag(curve, 1), .003);
}

TEST(CurveNoise, IsTheStandardDeviationOfWhiteNoise) {
  std::mt19937_64 random(1);
  std::normal_distribution<double> normal(0, .05);
  std::vector<double> values;
  for (int i = 0; i < 20000; ++i) values.push_back(3 - 1e-4 * i + normal(random));
  EXPECT_NEAR(noise_at_lag(values, 1), .05, .002);
  EXPECT_NEAR(noise_at_lag(values, 64), .05, .002);
}

// Of smoothed losses single steps show a tenth of the noise.
TEST(CurveNoise, WanderingIsSeenAtLongerLags) {
  std::mt19937_64 random(2);
  std::normal_distribution<double> normal;
  std::vector<double> values;
  double state = 0;
  for (int i = 0; i < 20000; ++i) {
    state = .95 * state + std::sqrt(1 - .95 * .95) * .05 * normal(random);
    values.push_back(state);
  }
  EXPECT_LT(noise_at_lag(values, 1), .02);
  EXPECT_NEAR(wandering_noise(values), .05, .01);
}

TEST(CurveNoise, AStepInTheMiddleAddsNothing) {
  std::mt19937_64 random(3);
  std::normal_distribution<double> normal(0, .05);
  std::vector<double> values;
  for (int i = 0; i < 400; ++i) values.push_back(normal(random) + (i < 200 ? 0 : 1));
  EXPECT_LT(wandering_noise(values), .09);
}

TEST(CurveNoise, TheLastPrintedDigitIsSeen) {
  EXPECT_NEAR(printed_unit({2.49, 2.5, 3}), .01, 1e-12);
  EXPECT_NEAR(printed_unit({10.639377, 2.899569}), 1e-6, 1e-12);
  EXPECT_EQ(printed_unit({5, 3}), 1);
  EXPECT_EQ(printed_unit({1. / 3}), 0);
  EXPECT_EQ(significant_digits({9.15e-6, 1e-5}), 3);
}

// Megatron printed three digits of a rate, later six.
TEST(CurveNoise, NumbersAreEqualAsFarAsTheCoarserSays) {
  EXPECT_TRUE(equal_to_digits(1.507e-5, 1.5075e-5, 4));
  EXPECT_TRUE(equal_to_digits(.02, .02, 17));
  EXPECT_FALSE(equal_to_digits(1.507e-5, 1.509e-5, 4));
  EXPECT_FALSE(equal_to_digits(.02, .014, 1));
  EXPECT_TRUE(equal_to_digits(0, 0, 3));
}

}  // namespace
}  // namespace nb
