// The gate over whole runs: the same run twice, a broken scorer, another few-shot draw.
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "harness/base/fs.hpp"
#include "harness/base/json_io.hpp"
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

// The broken task is out of the declared family there.
TEST_F(Gate, RunWithBaselineJudgesByThePolicyThatIsNamed) {
  const Bench broken;
  const std::string policy = (broken.results() / "policy.json").string();
  ASSERT_TRUE(write_file(policy, R"({"gated_tasks": ["mw/facts"]})"));
  const std::string baseline = base_->suite_folder("learns").string();
  const std::vector<std::string> fault = {"--fault", "second_best:mw/agreement"};
  const auto gated =
      candidate(broken, {fault[0], fault[1], "--baseline", baseline, "--policy", policy, "--json"});
  const Json said = Json::parse(gated.out);
  for (const Json& verdict : said.at("gate").at("verdicts"))
    EXPECT_NE(verdict.at("metric"), "mw/agreement/accuracy") << verdict;
  const auto alone = broken.run(kGateSuite, {"--policy", policy});
  EXPECT_EQ(alone.exit_code, 64) << alone.out;
  EXPECT_NE(alone.err.find("give --baseline RUN too"), std::string::npos) << alone.err;
  const auto absent = broken.run(kGateSuite, {"--baseline", baseline, "--policy", policy + "x"});
  EXPECT_EQ(absent.exit_code, 64) << absent.out;
}

// Training changed too, so tonight's own scores cannot show that the scorer broke: the baseline's
// checkpoints do.
TEST_F(Gate, BaselinesCheckpointsShowABrokenScorerBesideAChangedTraining) {
  const std::vector<std::string> changed = {"--set",      "/stages/base/matrix_lr=0.019",
                                            "--set",      "/evaluations/0/of_baseline=true",
                                            "--baseline", base_->suite_folder("learns").string(),
                                            "--json"};
  const Bench sound;
  const auto before = sound.run(kGateSuite, changed);
  const Json healthy = Json::parse(before.out);
  const auto again = [](const Json& run) {
    Json found = Json::array();
    for (const Json& verdict : run.at("gate").at("verdicts"))
      if (verdict.at("where").get<std::string>().starts_with("eval accepted."))
        found.push_back(verdict);
    return found;
  };
  EXPECT_FALSE(again(healthy).empty()) << before.out;
  for (const Json& verdict : again(healthy)) EXPECT_EQ(verdict.at("verdict"), "PASS") << verdict;

  const Bench broken;
  std::vector<std::string> faulty = changed;
  faulty.insert(faulty.end(), {"--fault", "second_best:mw/agreement"});
  const auto after = broken.run(kGateSuite, faulty);
  EXPECT_EQ(after.exit_code, 1) << after.err;
  const Json red = again(Json::parse(after.out));
  EXPECT_TRUE(std::ranges::any_of(red, [](const Json& verdict) {
    return verdict.at("verdict") == "REGRESSED";
  })) << red;
}

// Other weights than the baseline's record names would pair with nothing, and nothing would be red.
TEST_F(Gate, ADamagedCheckpointOfTheBaselineIsNamed) {
  const Bench accepted, tonight;
  fs::copy(base_->results() / "learns", accepted.results() / "learns", fs::copy_options::recursive);
  fs::path checkpoint;
  for (const auto& entry : fs::recursive_directory_iterator(accepted.results()))
    if (entry.path().extension() == ".safetensors") checkpoint = entry.path();
  std::string bytes = read_file(checkpoint).value();
  bytes[bytes.size() - 2] = static_cast<char>(bytes[bytes.size() - 2] ^ 1);
  ASSERT_TRUE(write_file(checkpoint, bytes));
  const auto run = tonight.run(kGateSuite, {"--set", "/stages/base/matrix_lr=0.0199", "--set",
                                            "/evaluations/0/of_baseline=true", "--baseline",
                                            accepted.suite_folder("learns").string()});
  EXPECT_EQ(run.exit_code, 64) << run.out << run.err;
  EXPECT_NE(run.out.find(checkpoint.filename().string()), std::string::npos) << run.out;
}

TEST_F(Gate, UnchangedTrainingsAreNotEvaluatedTwice) {
  const Bench tonight;
  const auto run = candidate(tonight, {"--set", "/evaluations/0/of_baseline=true", "--baseline",
                                       base_->suite_folder("learns").string()});
  EXPECT_EQ(run.exit_code, 0) << run.out << run.err;
  EXPECT_NE(run.out.find("0 executed"), std::string::npos) << run.out;
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
