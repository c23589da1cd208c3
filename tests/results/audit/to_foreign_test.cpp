#include "results/audit/to_foreign.hpp"

#include <gtest/gtest.h>

#include "results/audit/published.hpp"
#include "results/store/metric_names.hpp"
#include "tests/results/audit/audit_case.hpp"

namespace nb::test {
namespace {

TEST(ToForeign, EveryColumnOfAPublishedTableIsARun) {
  const ForeignResults results = foreign_of(read_published("ascend_910c_d20").value());
  ASSERT_EQ(results.runs.size(), 3U);
  const ForeignRun& base = results.runs[0];
  EXPECT_EQ(base.model, "d20");
  EXPECT_EQ(base.stage, "base");
  EXPECT_EQ(base.provenance.at("device"), "Huawei Ascend 910C");
  EXPECT_EQ(base.provenance.at("parameters"), "896,535,720");
  const auto metric = [&](const std::string& name) {
    const auto found =
        std::ranges::find_if(base.metrics, [&](const Metric& m) { return m.name == name; });
    return found == base.metrics.end() ? 0 : found->value.value();
  };
  EXPECT_DOUBLE_EQ(metric(metric::kValBpb), .7811);
  EXPECT_NEAR(metric(metric::kPeakMemory), 33720.95 * 1048576, 1);
  const ForeignSeries& series = results.runs[2].series[4];
  EXPECT_EQ(series.name.task, "humaneval");
  EXPECT_EQ(series.name.metric, metric::kAccuracy);
  EXPECT_EQ(series.reported, .0122);
  EXPECT_EQ(series.reported_n, 164);
  EXPECT_TRUE(series.items.empty());
  EXPECT_FALSE(results.runs[2].series.back().primary);  // ChatCORE
}

TEST(ToForeign, WhatWasNotMeasuredIsNoMetric) {
  const ForeignResults results =
      foreign_of(table_from(run_with(R"("mfu": "0.00%", "minutes": "0.00m", "val_bpb": "2.1")")));
  ASSERT_EQ(results.runs.front().metrics.size(), 1U);
  EXPECT_EQ(text_of(results.runs.front().notes.front()),
            "the numbers are claims: no record of the run shows them");
}

TEST(ToForeign, CentredScoresBecomeAccuracies) {
  const ForeignResults results = foreign_of(
      table_from("## Base model evaluation\ntimestamp: 2025-11-11 12:23:59\n\n- copa: 0.3400\n"));
  EXPECT_NEAR(*results.runs.front().series.front().reported, .67, 1e-12);
}

}  // namespace
}  // namespace nb::test
