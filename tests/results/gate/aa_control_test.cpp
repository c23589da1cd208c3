#include "results/gate/aa_control.hpp"

#include <gtest/gtest.h>

#include "tests/results/fake_run.hpp"

namespace nb {
namespace {

using test::even;
using test::FakeRun;

// A run of one training and one evaluation with fixed keys; `change` plants what is not
// deterministic.
void fill_control(FakeRun& run, const std::function<void(Record&)>& change = {}) {
  run.add_training("ascend_910b3", 1, 1.5);
  run.add_evaluation("ascend_910b3", 1, "w", {{"mw/facts", 40, even}}, change);
}

std::string reason_of(const GateResult& result) {
  EXPECT_FALSE(result.verdicts.empty());
  return result.verdicts.empty() ? "" : text_of(result.verdicts.front().reason);
}

TEST(AaControl, TheSameKeysAndBitsPass) {
  FakeRun first, second;
  fill_control(first);
  fill_control(second);
  const GateResult result = aa_control(first.read(), second.read());
  EXPECT_EQ(result.exit_code, 0) << gate_text(result);
  EXPECT_EQ(result.verdicts.size(), 2U);
}

TEST(AaControl, PlantedNondeterminismIsAnError) {
  FakeRun first, second;
  fill_control(first);
  fill_control(second, [](Record& record) {  // the last bit of one score
    for (Metric& metric : record.metrics)
      if (metric.value) metric.value = *metric.value + 1e-16 * 8;
  });
  const GateResult result = aa_control(first.read(), second.read());
  EXPECT_EQ(result.exit_code, 4) << gate_text(result);
  EXPECT_EQ(result.night, Verdict::kError);
  EXPECT_NE(reason_of(result).find("the same key gave other bits: metrics/"), std::string::npos)
      << reason_of(result);
}

TEST(AaControl, MeasuringNothingIsAnError) {
  FakeRun first, second, empty;
  fill_control(first);
  second.add_training("ascend_910b3", 1, 1.5);
  second.add_evaluation("ascend_910b3", 1, "other weights", {{"mw/facts", 40, even}});
  EXPECT_NE(reason_of(aa_control(first.read(), second.read())).find("no control: its keys differ"),
            std::string::npos);
  const GateResult itself = aa_control(first.read(), first.read());
  EXPECT_EQ(itself.exit_code, 4);
  EXPECT_NE(reason_of(itself).find("compared with itself"), std::string::npos);
  empty.add_training("ascend_910b3", 1, 1.5);
  const GateResult part = aa_control(first.read(), empty.read());
  EXPECT_EQ(part.exit_code, 4);
  EXPECT_NE(reason_of(part).find("has no such node"), std::string::npos);
  EXPECT_EQ(aa_control({}, {}).exit_code, 4);
}

TEST(AaControl, JoinsANightAndMakesItAnError) {
  FakeRun base, first, second;
  fill_control(base);
  fill_control(first);
  fill_control(second, [](Record& record) { record.metrics.front().value = 0.25; });
  GateResult night = gate(base.read(), first.read());
  EXPECT_EQ(night.exit_code, 0);
  add_verdicts(night, aa_control(first.read(), second.read()), verbatim("A/A control"), {});
  EXPECT_EQ(night.exit_code, 4);
  EXPECT_TRUE(night.verdicts.front().where.starts_with("A/A control: ")) << gate_text(night);
}

}  // namespace
}  // namespace nb
