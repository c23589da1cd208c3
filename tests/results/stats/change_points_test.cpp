#include "results/stats/change_points.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "harness/base/json_io.hpp"
#include "harness/base/rng.hpp"

namespace nb {
namespace {

// tests/golden/change_points.py: exact fractions, the t distribution by integration.
TEST(ChangePoints, AreThoseOfThePythonScript) {
  const auto cases = read_json(std::string(NB_SOURCE_DIR) + "/tests/golden/change_points.json");
  ASSERT_TRUE(cases) << cases.error().message;
  ASSERT_GE(cases->size(), 17U);
  for (const Json& one : *cases) {
    const std::string name = one.at("name").get<std::string>();
    const auto values = one.at("values").get<std::vector<double>>();
    ChangePointOptions options;
    options.window = one.at("window").get<std::size_t>();
    options.min_change = one.at("min_change").get<double>();
    const auto found = change_points(values, options);
    const Json& expected = one.at("points");
    ASSERT_EQ(found.size(), expected.size()) << name;
    for (std::size_t i = 0; i < found.size(); ++i) {
      EXPECT_EQ(found[i].index, expected[i].at("index").get<std::size_t>()) << name;
      const double before = expected[i].at("before").get<double>();
      const double after = expected[i].at("after").get<double>();
      const double p = expected[i].at("p").get<double>();
      EXPECT_NEAR(found[i].before, before, 1e-12 * std::fabs(before)) << name;
      EXPECT_NEAR(found[i].after, after, 1e-12 * std::fabs(after)) << name;
      // Simpson's rule with 4,000 cells keeps 9 digits of these tails.
      EXPECT_NEAR(found[i].p, p, 1e-8 * p) << name;
    }
  }
}

std::vector<double> nights(std::uint64_t series, std::size_t count) {
  const Rng random(series, "change points test");
  std::vector<double> values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = random.normal(i);
  return values;
}

// The best of many splits is looked for, so the share of false alarms is not p: three months of
// healthy nights showed one in 13 of 2,000 series.
TEST(ChangePoints, HealthyNightsRarelyShowOne) {
  int alarms = 0;
  constexpr int kSeries = 1000;
  for (int s = 0; s < kSeries; ++s)
    alarms += change_points(nights(static_cast<std::uint64_t>(s), 90)).empty() ? 0 : 1;
  EXPECT_LE(alarms, kSeries / 50);
}

// 59 of 100 such series showed a level while nights were taken for independent.
TEST(ChangePoints, NightsThatGoWithTheNightBeforeRarelyShowOne) {
  constexpr int kSeries = 200;
  int alarms = 0, found = 0;
  for (int s = 0; s < kSeries; ++s) {
    auto values = nights(static_cast<std::uint64_t>(2000 + s), 90);
    for (std::size_t i = 1; i < values.size(); ++i) values[i] = .6 * values[i - 1] + .8 * values[i];
    alarms += change_points(values).empty() ? 0 : 1;
    for (std::size_t i = 45; i < values.size(); ++i) values[i] += 5;
    found += change_points(values).empty() ? 0 : 1;
  }
  EXPECT_LE(alarms, kSeries / 10);
  EXPECT_GE(found, kSeries * 6 / 10);
}

TEST(ChangePoints, AStepOfThreeDeviationsIsMostlyFoundWithinFiveNights) {
  int found = 0;
  constexpr int kSeries = 100;
  for (int s = 0; s < kSeries; ++s) {
    auto values = nights(static_cast<std::uint64_t>(1000 + s), 50);
    for (std::size_t i = 45; i < values.size(); ++i) values[i] += 3;
    found += change_points(values).empty() ? 0 : 1;
  }
  EXPECT_GE(found, 80);
}

// Windows move on: what is found in the past stays found as nights are added.
TEST(ChangePoints, StayFoundWhileNightsAreAdded) {
  auto values = nights(7, 400);
  for (std::size_t i = 120; i < values.size(); ++i) values[i] += 4;
  for (std::size_t length = 130; length <= values.size(); length += 27) {
    const auto found = change_points(std::span(values).first(length));
    ASSERT_EQ(found.size(), 1U) << length;
    EXPECT_EQ(found[0].index, 120U) << length;
  }
}

}  // namespace
}  // namespace nb
