
#include "results/compare/predicted_run.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "results/compare/headline.hpp"
#include "results/store/metric_names.hpp"
#include "tests/results/fake_run.hpp"

namespace nb {
namespace {

using test::FakeRun;
using test::metric_of;

// As harness/run/predict_stage.cpp writes them. step_time_ns 0: it does not fit, 12 rows do.
void add_run(FakeRun& run, const std::string& device, const std::string& name, int depth,
             double step_time_ns, const char* stage = "base") {
  Record record = FakeRun().add_prediction(device, step_time_ns + depth, 1e9);
  record.name = name;
  record.settings = Json{{"prediction", {{"depth", depth}, {"cards", 8}, {"stage", stage}}}};
  const auto add = [&](const char* metric, double value, const char* unit) {
    record.metrics.push_back(metric_of(metric, value, unit, Direction::kNone));
  };
  record.metrics.clear();
  if (step_time_ns > 0) add("stage_time_ns", 21400 * step_time_ns, "ns");
  add("device_batch_size", step_time_ns > 0 ? 8 : 32, "row");
  if (step_time_ns == 0) add("largest_device_batch_size", 12, "row");
  add("parameters", depth * 1e6, "1");
  if (device.starts_with("ascend")) add("expected_error", .042, "1");
  run.add(record);
}

Sentence said(const FakeRun& run) {
  const RunRecords records = run.read();
  return headline(*compare_devices(records, "ascend_910b3", "h100_sxm"));
}

TEST(PredictedRun, IsTheFirstSentenceWhereNothingElseIs) {
  FakeRun run;
  for (const int depth : {12, 20}) {
    add_run(run, "ascend_910b3", std::to_string(depth), depth, depth * 113.86e6);
    add_run(run, "h100_sxm", std::to_string(depth), depth, depth * 24.19e6);
  }
  add_run(run, "ascend_910b3", "32 rows", 20, 0);
  add_run(run, "h100_sxm", "32 rows", 20, 20 * 24.19e6);
  EXPECT_EQ(text_of(said(run)),
            "d20, 8 × ascend_910b3: 13 h 32 min, 4.71 × h100_sxm (2 h 52 min); 32 rows do not "
            "fit, 12 do; expected error ± 4.2 %.");
  EXPECT_EQ(text_of(said(run), Language::kZh).find("d20，8 × ascend_910b3：13 h 32 min"), 0U);
}

TEST(PredictedRun, SaysNothingOfStagesThatAreNotTheWholeRun) {
  FakeRun run;
  add_run(run, "ascend_910b3", "mid", 20, 2e9, "mid");
  add_run(run, "h100_sxm", "mid", 20, 1e9, "mid");
  EXPECT_TRUE(said(run).empty());
}

}  // namespace
}  // namespace nb
