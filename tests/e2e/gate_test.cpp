// The gate over whole runs: the same run twice, a broken scorer, another few-shot draw.
#include <gtest/gtest.h>

#include "harness/base/fs.hpp"
#include "tests/e2e/bench.hpp"

namespace nb::test {
namespace {

constexpr const char* kGateSuite = "tests/e2e/learns.json";

class Gate : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    base_ = new Bench;
    const auto result = base_->run(kGateSuite);
    ASSERT_EQ(result.exit_code, 0) << result.err;
  }
  static void TearDownTestSuite() { delete base_; }

  // A run that takes what it can from a copy of the base run, so that checkpoints are the very
  // same.
  static SubprocessResult candidate(const Bench& bench, const std::vector<std::string>& more) {
    fs::copy(base_->results() / "learns", bench.results() / "learns", fs::copy_options::recursive);
    return bench.run(kGateSuite, more);
  }
  static SubprocessResult gate(const Bench& judged, std::vector<std::string> more = {}) {
    std::vector<std::string> arguments{"gate", base_->suite_folder("learns").string(),
                                       judged.suite_folder("learns").string()};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return judged(arguments);
  }
  static Bench* base_;
};
Bench* Gate::base_ = nullptr;

TEST_F(Gate, SameRunTwiceIsBitIdentical) {
  const Bench again;
  ASSERT_EQ(again.run(kGateSuite).exit_code, 0);
  const auto verdict = gate(again);
  EXPECT_EQ(verdict.exit_code, 0) << verdict.out;
  EXPECT_NE(verdict.out.find("PASS"), std::string::npos) << verdict.out;
  EXPECT_NE(verdict.out.find("bit-identical"), std::string::npos) << verdict.out;
}

TEST_F(Gate, PlantedFaultIsRegressed) {
  const Bench broken;
  const auto run = candidate(broken, {"--fault", "second_best:mw/agreement"});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  const auto verdict = gate(broken);
  EXPECT_EQ(verdict.exit_code, 1) << verdict.out;
  EXPECT_NE(verdict.out.find("REGRESSED"), std::string::npos) << verdict.out;
  EXPECT_NE(verdict.out.find("mw/agreement"), std::string::npos) << verdict.out;
}

TEST_F(Gate, AnotherFewShotSeedIsIncomparableAndNamesTheField) {
  const Bench other;
  const auto run = candidate(other, {"--set", "/evaluations/0/few_shot_seed=4321"});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  const auto verdict = gate(other);
  EXPECT_EQ(verdict.exit_code, 3) << verdict.out;
  EXPECT_NE(verdict.out.find("INCOMPARABLE"), std::string::npos) << verdict.out;
  EXPECT_NE(verdict.out.find("few_shot_seed"), std::string::npos) << verdict.out;
}

TEST_F(Gate, RunWithBaselineExitsWithItsVerdict) {
  const Bench broken;
  const auto run = candidate(broken, {"--fault", "second_best:mw/agreement", "--baseline",
                                      base_->suite_folder("learns").string()});
  EXPECT_EQ(run.exit_code, 1) << run.out << run.err;
  EXPECT_NE(run.out.find("REGRESSED"), std::string::npos) << run.out;
}

TEST_F(Gate, ABaselineThatTheRunItselfWritesIsRefused) {
  for (const fs::path& folder : {base_->suite_folder("learns"), base_->results()}) {
    const auto run = base_->run(kGateSuite, {"--baseline", folder.string()});
    EXPECT_EQ(run.exit_code, 64) << run.out << run.err;
    EXPECT_NE(run.err.find("would be compared with itself"), std::string::npos) << run.err;
  }
}

TEST_F(Gate, MissingRecordIsNotGreen) {
  const Bench damaged;
  ASSERT_EQ(candidate(damaged, {}).exit_code, 0);
  fs::remove(damaged.node("eval-base.mw") / "record.json");
  const auto verdict = gate(damaged);
  EXPECT_NE(verdict.exit_code, 0) << verdict.out;
}

}  // namespace
}  // namespace nb::test
