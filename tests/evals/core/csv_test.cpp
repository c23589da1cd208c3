// The expected lines are what Python prints for nanochat's format (base_eval.py):
// f"{label:<35}, {accuracy:<10.6f}, {centered:<10.6f}".
#include "evals/core/csv.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "results/store/metric_names.hpp"

namespace nb {
namespace {

Metric value(const std::string& name, double value) {
  Metric metric;
  metric.name = name;
  metric.value = value;
  return metric;
}
EvalResult task(const std::string& name, double accuracy, double centred) {
  EvalResult result;
  result.task = name;
  result.metrics = {value(metric::of_task(name, metric::kAccuracy), accuracy),
                    value(metric::of_task(name, metric::kCentred), centred)};
  return result;
}
EvalResult composite(const std::string& name, double core) {
  EvalResult result;
  result.task = name;
  result.metrics = {value(name, core)};
  return result;
}

constexpr const char* kTableRows =
    "Task                               , Accuracy  , Centered  \n"
    "copa                               , 0.580000  , 0.160000  \n"
    "winograd                           , 0.498168  , -0.003663 \n";

TEST(CoreCsv, LinesStandInCoresOrderAsPythonPrintsThem) {
  // winograd comes after copa in CORE's order, whatever the order of the results.
  const std::vector<EvalResult> results = {
      task("winograd", 0.4981684981684982, -0.003663003663003583), task("copa", 0.58, 0.16),
      composite("core", -0.025857)};
  EXPECT_EQ(core_csv(results), std::string(kTableRows) +
                                   "CORE                               ,           , -0.025857 \n");
}

TEST(CoreCsv, AnEstimateIsNotCalledCore) {
  const std::vector<EvalResult> results = {
      task("copa", 0.58, 0.16), task("winograd", 0.4981684981684982, -0.003663003663003583),
      composite("core_estimate", 0.25)};
  EXPECT_EQ(core_csv(results), std::string(kTableRows) +
                                   "core_estimate                      ,           , 0.250000  \n");
}

TEST(CoreCsv, AMissingCompositeAndForeignTasksLeaveNoLine) {
  EvalResult none = composite("core", 0);
  none.metrics.front().value.reset();
  const std::vector<EvalResult> results = {
      task("copa", 0.58, 0.16), task("winograd", 0.4981684981684982, -0.003663003663003583),
      task("mmlu", 0.25, 0.0), none};
  EXPECT_EQ(core_csv(results), kTableRows);
  EXPECT_EQ(core_csv(std::vector<EvalResult>{task("mmlu", 0.25, 0.0)}), "");
}

}  // namespace
}  // namespace nb
