#include "results/stats/margin_shift.hpp"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <string>

#include "harness/base/rng.hpp"
#include "tests/results/more_golden.hpp"

namespace nb {
namespace {

using test::more_golden;

TEST(MarginShift, EqualsItsDefinitions) {
  for (const Json& row : more_golden()["shift"]) {
    Margins margins;
    for (std::size_t i = 0; i < row["before"].size(); ++i) {
      const double a = row["before"][i], b = row["after"][i];
      margins.add({a, b});
      if ((a > 0) != (b > 0)) margins.add_flip({a, b}, row["labels"][i]);
    }
    const MarginShift shift = margin_shift(margins, row["flips"], true);
    EXPECT_NEAR(shift.bias.difference, row["mean"].get<double>(), 1e-14);
    EXPECT_NEAR(shift.bias.t, row["t"].get<double>(), 1e-10);
    EXPECT_NEAR(shift.scale, row["scale"].get<double>(), 1e-14);
    EXPECT_NEAR(shift.typical, row["median_size"].get<double>(), 1e-14);
    EXPECT_NEAR(shift.expected_flips, row["expected"].get<double>(), 1e-12);
    EXPECT_NEAR(shift.p_excess, row["p_excess"].get<double>(), 1e-12);
    EXPECT_NEAR(shift.hard_limit, row["limit"].get<double>(), 1e-14);
    const auto hard = row["hard"].get<std::set<std::string>>();
    EXPECT_EQ(shift.hard_flips, std::ssize(hard));
    EXPECT_EQ(std::set<std::string>(shift.hardest.begin(), shift.hardest.end()), hard);
  }
}

TEST(MarginShift, NamesTheHardestFlipsAndCountsAll) {
  Margins margins, other_seed;
  for (int i = 0; i < 200; ++i) margins.add({1.0, 1.0 + 1e-4 * i});
  for (int i = 0; i < 15; ++i) margins.add_flip({0.01 * i, -1.0 - i}, fmt::format("a{}", i));
  for (int i = 0; i < 15; ++i) other_seed.add_flip({0.5 + i, -0.1}, fmt::format("b{}", i));
  other_seed.add_flip({0.01, -0.01}, "near a tie");
  margins.append(other_seed);
  const MarginShift shift = margin_shift(margins, 31, true);
  EXPECT_EQ(shift.hard_flips, 30);
  ASSERT_EQ(shift.hardest.size(), kNamedFlips);
  EXPECT_EQ(shift.hardest[0], "a14") << "15 nat";
  EXPECT_EQ(shift.hardest[1], "b14") << "14.5 nat";
  EXPECT_EQ(shift.hardest[19], "b5") << "5.5 nat";
}

// Logits of bf16 between 8 and 16 are multiples of 1/16, and so are the margins between letters: of
// a night whose norms rounded differently 27 of 1620 moved by one of them, and one tie was lost.
TEST(MarginShift, OneBitOfABf16LogitIsRounding) {
  const auto of = [](double step, double move, std::int64_t ties_lost) {
    Margins margins;
    margins.set_logit_step(step);
    for (int i = 0; i < 1620; ++i) margins.add({(i % 24) / 16.0, (i % 24) / 16.0});
    for (int i = 0; i < 26; ++i) margins.add({1.0, 1.0 + (i % 2 == 0 ? move : -move)});
    margins.add({move, 0});
    margins.add_flip({move, 0}, "lost");
    return margin_shift(margins, ties_lost, true);
  };
  const MarginShift bit = of(0x1p-4, 0x1p-4, 1);
  EXPECT_EQ(bit.scale, 0) << "most items did not move";
  EXPECT_EQ(bit.rounding_limit, 0.125);
  EXPECT_EQ(bit.hard_flips, 0);
  // 27 of 1647 moved, by exactly 1/16: half of the 68 ties and of the 69 margins of 1/16 beside
  // them.
  EXPECT_NEAR(bit.expected_flips, 27.0 / 1647 * (68 + 69) / 2, 1e-12);
  EXPECT_GT(bit.p_excess, 0.5);
  EXPECT_LT(of(0x1p-4, 0x1p-4, 9).p_excess, 0.01) << "too many for so few moves";
  EXPECT_EQ(of(0, 0x1p-4, 1).hard_flips, 1) << "where logits are finer than 16 bits";
  EXPECT_EQ(of(0x1p-4, 0x3p-4, 1).hard_flips, 1) << "three bits";
  // Ties that are broken differently move nothing.
  EXPECT_EQ(of(0x1p-4, 0, 1).expected_flips, 0);
  EXPECT_EQ(of(0x1p-4, 0, 1).p_excess, 0);
}

TEST(ChoiceAgreement, EqualsNumpy) {
  for (const Json& row : more_golden()["agreement"]) {
    Spool<double> divergences;
    for (const Json& pair : row["pairs"])
      divergences.push_back(
          choice_divergence(pair[0].get<std::vector<float>>(), pair[1].get<std::vector<float>>()));
    const ChoiceAgreement result = choice_agreement(divergences, row["same_top"]);
    EXPECT_EQ(result.items, 12);
    EXPECT_NEAR(result.mean_divergence, row["mean"].get<double>(), 1e-7) << "floats have 7 digits";
    EXPECT_NEAR(result.p999_divergence, row["p999"].get<double>(), 1e-7);
  }
  const std::vector<float> same = {-1.0F, -2.0F};
  EXPECT_EQ(choice_divergence(same, same), 0);
  // Only differences between choices count: the same distribution, shifted.
  EXPECT_NEAR(choice_divergence(same, std::vector<float>{-5.0F, -6.0F}), 0, 1e-12);
  EXPECT_EQ(choice_agreement({}, 0).mean_divergence, 0);
}

struct MarginNight {
  double bias = 0, excess = 0;  // share of runs in which the test is red
  double expected = 0, observed = 0;
};

// Margins Laplace(0, 1), noise of SD s, a bias, a share of items scored anew. 1172 items as in
// ARC-Challenge; bias red at .05, flip excess at .01.
MarginNight simulate_margins(double s, double bias, double corrupted, int runs) {
  MarginNight night;
  for (int run = 0; run < runs; ++run) {
    const Rng rng(31, "margins", static_cast<std::uint64_t>(run));
    const auto laplace = [&](std::uint64_t i) {
      const double u = rng.uniform(i) - 0.5;
      return (u < 0 ? 1 : -1) * std::log(1 - 2 * std::fabs(u));
    };
    Margins margins;
    std::int64_t flips = 0;
    for (std::uint64_t i = 0; i < 1172; ++i) {
      const double a = laplace(4 * i);
      const bool is_corrupted = rng.uniform(4 * i + 1) < corrupted;
      const double b =
          is_corrupted ? laplace(4 * i + 2) : a + bias + s * rng.normal(1000000 + 2 * i);
      margins.add({a, b});
      flips += (a > 0) != (b > 0) ? 1 : 0;
    }
    const MarginShift shift = margin_shift(margins, flips, true);
    night.bias += shift.bias.p_two_sided <= .05 ? 1.0 / runs : 0;
    night.excess += shift.p_excess <= .01 ? 1.0 / runs : 0;
    night.expected += shift.expected_flips / runs;
    night.observed += static_cast<double>(flips) / runs;
  }
  return night;
}

// Against a published simulation of 1500 runs; ours has 150, whose standard errors are at most .04.
TEST(MarginShift, SeesWhatAPublishedSimulationSays) {
  const MarginNight rounding = simulate_margins(.02, 0, 0, 150);
  EXPECT_NEAR(rounding.expected, 9.3, .2);
  EXPECT_NEAR(rounding.observed, 9.4, .7);
  EXPECT_NEAR(rounding.bias, .048, .05);
  EXPECT_LE(rounding.excess, .02) << "published .001";
  const MarginNight biased = simulate_margins(.02, -.002, 0, 150);
  EXPECT_NEAR(biased.bias, .925, .06);
  const MarginNight one = simulate_margins(.02, 0, .01, 150);
  EXPECT_NEAR(one.observed, 15.0, 1);
  EXPECT_NEAR(one.excess, .228, .11);
  const MarginNight two = simulate_margins(.02, 0, .02, 150);
  EXPECT_NEAR(two.observed, 20.8, 1.2);
  EXPECT_NEAR(two.excess, .761, .11);
}

}  // namespace
}  // namespace nb
