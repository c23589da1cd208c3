#include "results/stats/stats_bootstrap.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "harness/base/parallel.hpp"
#include "results/stats/stats_composite.hpp"
#include "tests/results/more_golden.hpp"

namespace nb {
namespace {

using test::more_golden;

PairedCounts bootstrap_table(const Json& json) {
  return {json[0].get<int>(), json[1].get<int>(), json[2].get<int>(), json[3].get<int>()};
}

// 10,000 replicates: the SD of a normal is known to 0.7 %, an end of the interval to 3 % of it.
TEST(Bootstrap, OfCountsEqualsTheExactMultinomial) {
  for (const Json& row : more_golden()["multinomial"]) {
    const PairedCounts counts = bootstrap_table(row["table"]);
    const Bootstrap result = bootstrap(counts, {.task = "t"});
    const double sd = row["sd"], step = 1 / static_cast<double>(counts.n());
    EXPECT_EQ(result.estimate, counts.difference());
    EXPECT_NEAR(result.standard_error / sd, 1, .03) << row.dump();
    EXPECT_NEAR(result.percentile95.low, row["low"].get<double>(), step * 1.01 + .03 * sd);
    EXPECT_NEAR(result.percentile95.high, row["high"].get<double>(), step * 1.01 + .03 * sd);
  }
}

// The mistake of a known harness: SD of the replicates over the square root of their number.
TEST(Bootstrap, StandardErrorIsTheSpreadOfTheReplicates) {
  const PairedCounts counts{300, 40, 25, 135};
  const double closed = paired_standard_error(counts);
  EXPECT_NEAR(bootstrap(counts).standard_error / closed, 1, .03);
  EXPECT_NEAR(bootstrap(counts, {.replicates = 1000}).standard_error / closed, 1, .08);
}

TEST(Bootstrap, OfClustersEqualsAnIndependentOne) {
  for (const Json& row : more_golden()["cluster_bootstrap"]) {
    const auto values = row["values"].get<std::vector<double>>();
    const auto clusters = row["clusters"].get<std::vector<std::int64_t>>();
    const Bootstrap result = bootstrap(values, clusters, {.task = "c"});
    const double sd = row["sd"];
    EXPECT_NEAR(result.estimate, row["estimate"].get<double>(), 1e-14);
    EXPECT_NEAR(result.standard_error / sd, 1, .03);
    for (const auto& [name, interval] :
         {std::pair{"percentile", result.percentile95}, {"bca", result.bca95}}) {
      EXPECT_NEAR(interval.low, row[name][0].get<double>(), .08 * sd) << name;
      EXPECT_NEAR(interval.high, row[name][1].get<double>(), .08 * sd) << name;
    }
  }
}

// Given the replicates and the acceleration, BCa is arithmetic: of 101 equally spaced values with
// 30 below the estimate the bias is Φ⁻¹(.305).
TEST(Bootstrap, BcaEqualsItsFormula) {
  std::vector<double> replicates;
  for (int i = 0; i <= 100; ++i) replicates.push_back(i);
  const Bootstrap result = bootstrap_of(30, replicates, .05);
  const double bias = -0.5187;  // Φ⁻¹(30.5/101 = .30198), any table
  const auto end = [&](double z) {
    const double at = bias + (bias + z) / (1 - .05 * (bias + z));
    return 100 * 0.5 * std::erfc(-at / std::sqrt(2.0));
  };
  EXPECT_NEAR(result.bca95.low, end(-1.96), .2);
  EXPECT_NEAR(result.bca95.high, end(1.96), .2);
  EXPECT_NEAR(result.percentile95.low, 2.5, 1e-12);
}

TEST(Bootstrap, DrawsDependOnSeedTaskAndReplicateOnly) {
  const PairedCounts counts{30, 5, 3, 12};
  const auto first = replicates_of(counts, {.task = "a"});
  const int before = threads();
  set_threads(before == 1 ? 3 : 1);
  EXPECT_EQ(first, replicates_of(counts, {.task = "a"}));
  set_threads(before);
  const auto longer = replicates_of(counts, {.task = "a", .replicates = 10500});
  EXPECT_TRUE(std::equal(first.begin(), first.end(), longer.begin())) << "replicate by replicate";
  EXPECT_NE(first, replicates_of(counts, {.task = "b"}));
  EXPECT_NE(first, replicates_of(counts, {.seed = 1, .task = "a"}));
}

TEST(Bootstrap, WithoutFlipsThereIsNoSpread) {
  const Bootstrap none = bootstrap(PairedCounts{50, 0, 0, 14});
  EXPECT_EQ(none.standard_error, 0);
  EXPECT_EQ(none.bca95.low, 0);
  const Bootstrap all = bootstrap(PairedCounts{0, 20, 0, 0});
  EXPECT_EQ(all.percentile95.high, -1);
  EXPECT_EQ(bootstrap(std::vector<double>{0.5}, {}).estimate, 0.5);
}

// Chi-square of 20,000 draws against the exact probabilities, both methods and their border.
TEST(Binomial, DrawsFollowTheDistribution) {
  struct Case {
    std::int64_t n;
    double p;
  };
  for (const Case& one : {Case{1, .3},
                          {20, .05},
                          {1000, .0099},
                          {40, .5},
                          {200, .06},
                          {30, .9},
                          {5000, .4},
                          {1000000, .00002}}) {
    constexpr int kDraws = 20000;
    std::map<std::int64_t, int> seen;
    Draws draws(Rng(3, "binomial"));
    double sum = 0, squares = 0;
    for (int i = 0; i < kDraws; ++i) {
      const std::int64_t k = draws.binomial(one.n, one.p);
      ASSERT_TRUE(k >= 0 && k <= one.n);
      ++seen[k];
      sum += static_cast<double>(k);
      squares += static_cast<double>(k) * static_cast<double>(k);
    }
    const double size = static_cast<double>(one.n), mean_of = size * one.p;
    const double variance = mean_of * (1 - one.p);
    EXPECT_NEAR(sum / kDraws, mean_of, 4 * std::sqrt(variance / kDraws)) << one.n;
    const double mean_seen = sum / kDraws;
    EXPECT_NEAR((squares / kDraws - mean_seen * mean_seen) / variance, 1, .05) << one.n;
    double chi = 0, rest = kDraws, rest_seen = kDraws;
    int cells = 0;
    for (std::int64_t k = 0; k <= one.n && k < 6000; ++k) {
      const double d = static_cast<double>(k);
      const double log_p = std::lgamma(size + 1) - std::lgamma(d + 1) - std::lgamma(size - d + 1) +
                           d * std::log(one.p) + (size - d) * std::log1p(-one.p);
      const double expected = kDraws * std::exp(log_p);
      if (expected < 10) continue;
      const double observed = seen.contains(k) ? seen[k] : 0;
      chi += (observed - expected) * (observed - expected) / expected;
      rest -= expected;
      rest_seen -= observed;
      ++cells;
    }
    if (rest > 10) chi += (rest_seen - rest) * (rest_seen - rest) / rest;
    EXPECT_LT(chi, cells + 4 * std::sqrt(2.0 * cells) + 4) << one.n << " × " << one.p;
  }
}

}  // namespace
}  // namespace nb
