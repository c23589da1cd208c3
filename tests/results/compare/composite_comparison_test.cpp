
#include "results/compare/composite_comparison.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "tests/results/fake_run.hpp"

namespace nb {
namespace {

using test::even;
using test::FakeRun;

// Three tasks with a baseline of .25 each and "core", their mean.
void add_with_core(FakeRun& run, const std::function<bool(int)>& right) {
  run.add_evaluation(
      "ascend_910b3", 1, "w", {{"a", 100, right}, {"b", 400, even}, {"c", 50, even}},
      [](Record& record) {
        double sum = 0;
        for (const Metric& metric : record.metrics)
          if (metric.name.ends_with("/centred")) sum += *metric.value;
        record.metrics.push_back(test::metric_of("core", sum / 3, "1", Direction::kHigher));
      });
}

const MetricDifference& core_of(const Comparison& comparison) {
  const auto& rows = comparison.pairs.at(0).metrics;
  const auto at =
      std::find_if(rows.begin(), rows.end(), [](const auto& row) { return row.name == "core"; });
  EXPECT_NE(at, rows.end());
  return *at;
}

TEST(CompositeComparison, HasTheErrorOfItsPairedTasks) {
  FakeRun base, candidate;
  add_with_core(base, even);
  add_with_core(candidate, [](int i) { return i % 2 == 0 && i >= 20; });
  const RunRecords a = base.read(), b = candidate.read();
  const Comparison comparison = compare_runs(a, b);
  const MetricDifference& core = core_of(comparison);
  ASSERT_TRUE(core.interval95);
  // 10 of 100 lost: Var(d) = (.1 − .01)·100/99, SE = sqrt(Var/100)/(3·.75).
  const double error = std::sqrt(.09 / 99) / (3 * .75);
  EXPECT_NEAR(*core.difference, -.1 / (3 * .75), 1e-12);
  EXPECT_NEAR(core.interval95->high - core.interval95->low, 2 * kZ95 * error, 1e-12);
  EXPECT_NEAR(*core.min_detectable, 2.8016 * error, 1e-4 * error);
  EXPECT_EQ(core.shown, Shown::kWorse);
  EXPECT_NE(text_of(core.method).find("a 100 %"), std::string::npos) << text_of(core.method);
  EXPECT_NE(comparison_text(comparison).find("largest shares of the variance"), std::string::npos);
  const Json json = comparison_json(comparison);
  EXPECT_EQ(json.at("schema"), "npubench.compare/3");
  // One task of three flipped: p .00195 is the smallest of three.
  for (const Json& row : json.at("pairs").at(0).at("metrics"))
    if (row.at("name") == "a/accuracy") {
      EXPECT_NEAR(row.at("q_benjamini_hochberg").get<double>(),
                  3 * row.at("p_two_sided").get<double>(), 1e-15);
    }
}

TEST(CompositeComparison, AnotherNumberIsNoComposite) {
  FakeRun base, candidate;
  const auto add = [](FakeRun& run, double core) {
    run.add_evaluation(
        "ascend_910b3", 1, "w", {{"a", 100, even}, {"b", 400, even}}, [core](Record& record) {
          record.metrics.push_back(test::metric_of("core", core, "1", Direction::kHigher));
        });
  };
  add(base, .5);
  add(candidate, .4);
  const RunRecords a = base.read(), b = candidate.read();
  const Comparison comparison = compare_runs(a, b);
  EXPECT_FALSE(core_of(comparison).interval95);
}

TEST(Compare, OneCheckpointScoredTwiceShowsItsNumerics) {
  FakeRun base, candidate;
  const auto add = [](FakeRun& run, float shift) {
    run.add_evaluation("ascend_910b3", 1, "w",
                       {{"a", 60, even, [shift](int i) {
                           const float margin = 0.1F * static_cast<float>(i % 7) + 0.3F;
                           return std::vector<float>{-2.0F,
                                                     -2.0F + (even(i) ? margin : -margin) +
                                                         shift * static_cast<float>(i % 3 - 1)};
                         }}});
  };
  add(base, 0);
  add(candidate, 0.01F);
  const RunRecords a = base.read(), b = candidate.read();
  const Comparison comparison = compare_runs(a, b);
  const Json numerics = comparison_json(comparison).at("pairs").at(0).at("numerics");
  ASSERT_EQ(numerics.size(), 1U);
  EXPECT_EQ(numerics[0].at("same_top"), 60);
  EXPECT_EQ(numerics[0].at("flips"), 0);
  EXPECT_GT(numerics[0].at("mean_divergence_nat").get<double>(), 0);
  EXPECT_NE(comparison_text(comparison).find("same top choice 100.00 %"), std::string::npos)
      << comparison_text(comparison);
}

}  // namespace
}  // namespace nb
