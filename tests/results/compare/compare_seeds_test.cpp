// Runs with several seeds: pairs, groups, intervals, directions.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "results/compare/compare.hpp"
#include "tests/results/fake_run.hpp"
#include "tests/results/metric_row.hpp"

namespace nb {
namespace {

using test::always;
using test::even;
using test::FakeRun;
using test::metric;

TEST(Compare, SeedsGetAnInterval) {
  FakeRun base, candidate;
  for (const std::int64_t seed : {1, 2, 3}) {
    base.add_training("h100_sxm", seed, 1.50 + 0.01 * static_cast<double>(seed));
    candidate.add_training("h100_sxm", seed, 1.40 + 0.01 * static_cast<double>(seed));
  }
  const RunRecords a = base.read(), b = candidate.read();
  const Comparison c = compare_runs(a, b);
  const auto at = std::find_if(c.seeds.begin(), c.seeds.end(),
                               [](const auto& s) { return s.metrics[0] == "val_bpb"; });
  ASSERT_NE(at, c.seeds.end());
  EXPECT_EQ(at->a.size(), 3U);
  EXPECT_EQ(at->method, SeedMethod::kPaired);
  EXPECT_NEAR(at->test->difference, -0.1, 1e-12);
  EXPECT_LT(at->test->interval95.high, 0);
}

TEST(Compare, ADirectionNeedsAnIntervalWithoutZero) {
  FakeRun base, candidate;
  base.add_evaluation("h100_sxm", 1, "w", {{"mw/cloze", 180, [](int i) { return i > 3; }}});
  candidate.add_evaluation("h100_sxm", 1, "w", {{"mw/cloze", 180, [](int i) { return i > 4; }}});
  const RunRecords a = base.read(), b = candidate.read();
  const Comparison c = compare_runs(a, b);
  const MetricDifference& row = metric(c.pairs[0], "mw/cloze/accuracy");
  EXPECT_EQ(row.counts->only_a, 1);
  EXPECT_EQ(row.shown, Shown::kNotShown) << "1 lost, 0 won: p is .5";
  EXPECT_DOUBLE_EQ(*row.min_detectable, 6.0 / 180) << "6–0 is the first table with p < .05";
  const std::string text = comparison_text(c);
  EXPECT_EQ(text.find("B worse"), std::string::npos) << text;
  EXPECT_NE(text.find("not established (a change of 0.033 would have shown): 1 lost, 0 won of"),
            std::string::npos)
      << text;
}

TEST(Compare, ManyLostAnswersAreADirection) {
  FakeRun base, candidate;
  base.add_evaluation("h100_sxm", 1, "w", {{"mw/cloze", 180, always}});
  candidate.add_evaluation("h100_sxm", 1, "w", {{"mw/cloze", 180, even}});
  const RunRecords a = base.read(), b = candidate.read();
  EXPECT_EQ(metric(compare_runs(a, b).pairs[0], "mw/cloze/accuracy").shown, Shown::kWorse);
  EXPECT_EQ(metric(compare_runs(b, a).pairs[0], "mw/cloze/accuracy").shown, Shown::kBetter);
}

TEST(Compare, OneSeedOfTrainedModelsHasNoDirection) {
  FakeRun base, candidate;
  base.add_training("h100_sxm", 1, 1.5);
  candidate.add_training("h100_sxm", 1, 1.4);
  base.add_evaluation("h100_sxm", 1, "w", {{"mw/cloze", 180, always}});
  candidate.add_evaluation("h100_sxm", 1, "other weights", {{"mw/cloze", 180, even}});
  const RunRecords a = base.read(), b = candidate.read();
  const Comparison c = compare_runs(a, b);
  EXPECT_EQ(metric(c.pairs[1], "val_bpb").shown, Shown::kNotShown);
  EXPECT_EQ(metric(c.pairs[0], "mw/cloze/accuracy").shown, Shown::kNotShown);
  const std::string text = comparison_text(c);
  EXPECT_EQ(text.find("B better"), std::string::npos) << text;
  EXPECT_EQ(text.find("B worse"), std::string::npos) << text;
  EXPECT_NE(text.find("one training a side"), std::string::npos) << text;
}

TEST(Compare, SimulatedCountsHaveADirectionRealClocksHaveNone) {
  FakeRun base, candidate;
  base.add_prediction("h100_sxm", 1e8, 1e9);
  candidate.add_prediction("h100_sxm", 1.1e8, 1e9);
  base.add_training("h100_sxm", 1, 1.5);
  candidate.add_training("h100_sxm", 1, 1.5, 0,
                         [](Record& record) { record.host_metrics[0].value = 9e9; });
  const RunRecords a = base.read(), b = candidate.read();
  const Comparison c = compare_runs(a, b);
  EXPECT_EQ(metric(c.pairs[0], "step_time_ns").shown, Shown::kWorse);
  EXPECT_EQ(metric(c.pairs[0], "peak_memory_bytes").shown, Shown::kEqual);
  EXPECT_EQ(metric(c.pairs[1], "wall_time_ns").shown, Shown::kNothing);
}

TEST(Compare, SeedsArePairedBySeed) {
  FakeRun base, candidate;
  const double spread[] = {0, .004, -.003, .001, .002};
  for (std::size_t i = 0; i < 5; ++i) {
    const auto seed = static_cast<std::int64_t>(i + 1);
    const auto same_minimum = [](Record& record) {
      Metric minimum = record.metrics[1];
      minimum.name = "min_val_bpb";
      record.metrics.push_back(minimum);
    };
    base.add_training("h100_sxm", seed, .355 + spread[i], 0, same_minimum);
    candidate.add_training("h100_sxm", seed, .356 + spread[i] + .0001 * static_cast<double>(i % 2),
                           0, same_minimum);
  }
  const RunRecords a = base.read(), b = candidate.read();
  const Comparison c = compare_runs(a, b);
  const auto of = [&](const std::string& name) {
    return std::find_if(c.seeds.begin(), c.seeds.end(),
                        [&](const auto& s) { return s.metrics[0] == name; });
  };
  const auto group = of("val_bpb");
  ASSERT_NE(group, c.seeds.end());
  EXPECT_EQ(group->metrics, (std::vector<std::string>{"val_bpb", "min_val_bpb"}))
      << "equal on both sides in every seed: one difference, not two";
  EXPECT_EQ(of("min_val_bpb"), c.seeds.end());
  EXPECT_EQ(group->seeds, (std::vector<std::int64_t>{1, 2, 3, 4, 5}));
  EXPECT_EQ(group->shown, Shown::kWorse) << "every seed is worse, though the seeds spread more";
  EXPECT_EQ(of("train_loss")->shown, Shown::kEqual);
  const std::string text = comparison_text(c);
  EXPECT_NE(text.find("B worse; paired seeds, 5 pairs; equal to min_val_bpb"), std::string::npos)
      << text;
}

TEST(Compare, SeedsThatDoNotMatchAreIndependentGroups) {
  FakeRun base, candidate;
  for (const std::int64_t seed : {1, 2, 3})
    base.add_training("h100_sxm", seed, 1.5 + .01 * static_cast<double>(seed));
  for (const std::int64_t seed : {4, 5})
    candidate.add_training("h100_sxm", seed, 1.5 + .01 * static_cast<double>(seed));
  const RunRecords a = base.read(), b = candidate.read();
  const Comparison c = compare_runs(a, b);
  EXPECT_TRUE(c.pairs.empty());
  EXPECT_TRUE(c.unpaired.empty());
  const auto group = std::find_if(c.seeds.begin(), c.seeds.end(),
                                  [](const auto& s) { return s.metrics[0] == "val_bpb"; });
  ASSERT_NE(group, c.seeds.end());
  EXPECT_EQ(group->method, SeedMethod::kWelch);
  EXPECT_EQ(group->a.size(), 3U);
  EXPECT_EQ(group->b.size(), 2U);
}

}  // namespace
}  // namespace nb
