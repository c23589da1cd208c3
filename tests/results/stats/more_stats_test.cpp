#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "harness/base/check.hpp"
#include "results/stats/pass_at_k.hpp"
#include "results/stats/stats_composite.hpp"
#include "results/stats/stats_unpaired.hpp"
#include "tests/results/more_golden.hpp"

namespace nb {
namespace {

using test::more_golden;

TEST(PassAtK, EqualsTheShareOfSubsets) {
  for (const Json& row : more_golden()["pass_at_k"])
    EXPECT_NEAR(pass_at_k(row["n"], row["c"], row["k"]), row["p"].get<double>(), 1e-15)
        << row.dump();
  EXPECT_EQ(pass_at_k(200, 0, 100), 0);
  EXPECT_THROW(pass_at_k(4, 1, 5), CheckFailure);
}

TEST(Corrections, BenjaminiHochbergEqualsItsDefinition) {
  for (const Json& row : more_golden()["benjamini_hochberg"]) {
    const auto q = benjamini_hochberg(row["p"].get<std::vector<double>>());
    const auto expected = row["q"].get<std::vector<double>>();
    for (std::size_t i = 0; i < q.size(); ++i) EXPECT_NEAR(q[i], expected[i], 1e-15) << row.dump();
  }
  EXPECT_TRUE(benjamini_hochberg({}).empty());
}

TEST(Composite, EqualsBruteForceOverItems) {
  for (const Json& row : more_golden()["composite"]) {
    std::vector<CompositeTask> tasks;
    for (const Json& task : row["tasks"]) {
      const std::int64_t n = task[0], b = task[1], c = task[2];
      const PairedCounts counts{n - b - c, b, c, 0};
      tasks.push_back({"task" + std::to_string(tasks.size()), counts.difference(),
                       paired_standard_error(counts), task[3]});
    }
    const auto result = composite_difference(tasks, tasks.size());
    ASSERT_TRUE(result);
    EXPECT_NEAR(result->difference, row["difference"].get<double>(), 1e-15);
    EXPECT_NEAR(result->standard_error, row["standard_error"].get<double>(), 1e-15);
    auto parts = row["parts"].get<std::vector<double>>();
    std::sort(parts.rbegin(), parts.rend());
    EXPECT_EQ(result->largest.size(), std::min<std::size_t>(3, parts.size()));
    for (std::size_t i = 0; i < result->largest.size(); ++i)
      EXPECT_NEAR(result->largest[i].standard_error, parts[i], 1e-15);
    EXPECT_FALSE(composite_difference(tasks, tasks.size() + 1)) << "a task is missing";
  }
}

// A published table of eleven cells, shares of n items on two devices without items: z and the 95 %
// interval as printed, to the digits printed.
TEST(Unpaired, EqualsAPublishedTable) {
  struct Row {
    double gpu, npu;
    std::int64_t n;
    double difference, low, high, z;
    bool significant;  // after Holm over all eleven
  };
  const std::vector<Row> rows = {{.2875, .2274, 1172, -.0601, -.0954, -.0248, 3.33, true},
                                 {.3561, .2483, 2376, -.1078, -.1337, -.0819, 8.09, true},
                                 {.0250, .0102, 1319, -.0148, -.0248, -.0048, 2.89, true},
                                 {.0671, .0239, 164, -.0432, -.0881, .0017, 1.88, false},
                                 {.3111, .2091, 14042, -.1020, -.1122, -.0918, 19.48, true},
                                 {.2807, .2339, 1172, -.0468, -.0821, -.0115, 2.59, true},
                                 {.3876, .2721, 2376, -.1155, -.1420, -.0890, 8.47, true},
                                 {.0455, .0283, 1319, -.0172, -.0316, -.0028, 2.34, false},
                                 {.0854, .0420, 164, -.0434, -.0961, .0093, 1.61, false},
                                 {.3151, .2993, 14042, -.0158, -.0266, -.0050, 2.87, true},
                                 {.0758, .0391, 1319, -.0367, -.0544, -.0190, 4.05, true}};
  std::vector<double> p;
  for (const Row& row : rows) {
    const UnpairedTest test = unpaired_shares(row.gpu, row.n, row.npu, row.n);
    EXPECT_NEAR(test.difference, row.difference, 1e-12);
    EXPECT_NEAR(test.interval95.low, row.low, 1.01e-4);
    EXPECT_NEAR(test.interval95.high, row.high, 1.01e-4);
    EXPECT_NEAR(-test.z, row.z, .0101);
    p.push_back(test.p_two_sided);
  }
  EXPECT_NEAR(p[0], 8.8e-4, 5e-5);
  EXPECT_NEAR(p[10] / 5.1e-5, 1, .05);
  const auto adjusted = holm(p);
  for (std::size_t i = 0; i < rows.size(); ++i)
    EXPECT_EQ(adjusted[i] <= .05, rows[i].significant) << i << ": " << adjusted[i];
}

// Wilson intervals, replicates (mean, SD, one new value) and detectable differences beside it.
TEST(Unpaired, EqualsWhatIsPublishedBesideTheTable) {
  const auto expect_wilson = [](std::int64_t k, std::int64_t n, double low, double high) {
    EXPECT_NEAR(wilson(k, n).low, low, 5.1e-5);
    EXPECT_NEAR(wilson(k, n).high, high, 5.1e-5);
  };
  expect_wilson(14, 164, .0515, .1382);
  expect_wilson(11, 164, .0379, .1161);
  expect_wilson(7, 164, .0208, .0855);
  expect_wilson(4, 164, .0095, .0610);
  expect_wilson(100, 1319, .0627, .0914);
  // One new value against m replicates of which mean and SD are printed.
  const auto expect_new = [](double value, double mean_of, double sd, int m, double t, double p) {
    const MeanTest test = mean_test(value - mean_of, sd * std::sqrt(1 + 1.0 / m), m - 1, 0);
    EXPECT_NEAR(test.t, t, .02);
    EXPECT_NEAR(test.p_two_sided, p, .002);
  };
  expect_new(.1608, .2086, .0111, 9, -4.08, .0035);
  expect_new(.0391, .0741, .0052, 5, -6.15, .0035);
  expect_new(.2274, .2786, .0199, 7, -2.41, .053);
  // 20 of 164 fall to 3; 1158 of 2376 become 1169.
  EXPECT_LT(unpaired_shares(20.0 / 164, 164, 3.0 / 164, 164).p_two_sided, .001);
  EXPECT_GT(unpaired_shares(1158.0 / 2376, 2376, 1169.0 / 2376, 2376).p_two_sided, .5);
}

TEST(Unpaired, WithoutSpreadNothingIsShown) {
  EXPECT_EQ(unpaired_shares(0, 10, 0, 10).p_two_sided, 1);
  EXPECT_LT(unpaired_shares(0, 100, 1, 100).p_two_sided, 1e-20);
}

}  // namespace
}  // namespace nb
