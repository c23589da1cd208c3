// The gate as a nightly job uses it: accept a run, judge the next ones against it, every exit code,
// every format, the noise profile. All by real runs of the binary.
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "harness/base/fs.hpp"
#include "harness/base/json_io.hpp"
#include "tests/e2e/bench.hpp"

namespace nb::test {
namespace {

constexpr const char* kFlowSuite = "tests/e2e/learns.json";

class GateFlow : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    accepted_ = new Bench;
    ASSERT_EQ(accepted_->run(kFlowSuite).exit_code, 0);
    again_ = new Bench;
    ASSERT_EQ(again_->run(kFlowSuite).exit_code, 0);
    retrained_ = new Bench;
    ASSERT_EQ(retrained_->run(kFlowSuite, {"--set", "/stages/base/matrix_lr=0.01999"}).exit_code,
              0);
  }
  static void TearDownTestSuite() {
    delete accepted_;
    delete again_;
    delete retrained_;
  }
  static std::string folder(const Bench& bench) { return bench.suite_folder("learns").string(); }
  // Another folder with the accepted run's bytes, and what the arguments change.
  static SubprocessResult changed(const Bench& bench, const std::vector<std::string>& more) {
    fs::copy(accepted_->results() / "learns", bench.results() / "learns",
             fs::copy_options::recursive | fs::copy_options::overwrite_existing);
    return bench.run(kFlowSuite, more);
  }
  static Bench *accepted_, *again_, *retrained_;
};
Bench* GateFlow::accepted_ = nullptr;
Bench* GateFlow::again_ = nullptr;
Bench* GateFlow::retrained_ = nullptr;

TEST_F(GateFlow, ExitCodesAreThoseOfTheVerdicts) {
  const Bench home;  // a place of its own for gates.jsonl
  const auto code = [&](std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "gate");
    arguments.insert(arguments.end(), {"--results-dir", home.results().string()});
    return home(arguments);
  };
  const std::string base = folder(*accepted_);
  EXPECT_EQ(code({base, folder(*again_)}).exit_code, 0);

  const Bench broken;
  ASSERT_EQ(changed(broken, {"--fault", "second_best:mw/agreement"}).exit_code, 0);
  EXPECT_EQ(code({base, folder(broken)}).exit_code, 1);

  // Another rate, allowed: one seed cannot tell.
  const fs::path policy = home.results() / "allow.json";
  ASSERT_TRUE(write_file(policy, "{\"allow_procedure_change\": true}"));
  const auto open = code({base, folder(*retrained_), "--policy", policy.string()});
  EXPECT_EQ(open.exit_code, 0) << open.out;
  EXPECT_TRUE(open.out.starts_with("can't tell (exit 0)")) << open.out;
  const auto strict = code({base, folder(*retrained_), "--policy", policy.string(), "--strict"});
  EXPECT_EQ(strict.exit_code, 2) << strict.out;

  const Bench shots;
  ASSERT_EQ(changed(shots, {"--set", "/evaluations/0/few_shot_seed=4321"}).exit_code, 0);
  EXPECT_EQ(code({base, folder(shots)}).exit_code, 3);

  const Bench missing;
  ASSERT_EQ(changed(missing, {}).exit_code, 0);
  fs::remove(missing.node("eval-base.mw") / "record.json");
  EXPECT_EQ(code({base, folder(missing)}).exit_code, 4);

  expect_sentence(code({base, folder(*again_) + "x"}), 64, {"does not exist"});
  ASSERT_TRUE(write_file(policy, "{\"alphas\": 0.05}"));
  expect_sentence(code({base, base, "--policy", policy.string()}), 64, {"did you mean \"alpha\"?"});
  expect_sentence(code({base}), 64, {"no run of the suite \"learns\" was accepted", "gate accept"});
  expect_sentence(code({base, base, base}), 64, {"a baseline and a candidate; 3 are given"});
}

TEST_F(GateFlow, ACandidateIsJudgedAgainstWhatWasAccepted) {
  const Bench nights;
  ASSERT_EQ(changed(nights, {}).exit_code, 0);
  const std::string run = folder(nights);
  expect_sentence(nights({"gate", "accept", run}), 64, {"--why"});
  const auto accepted = nights({"gate", "accept", run, "--why", "first", "--who", "tester"});
  EXPECT_EQ(accepted.exit_code, 0) << accepted.err;
  EXPECT_NE(accepted.out.find("by tester"), std::string::npos) << accepted.out;
  const auto same = nights({"gate", run});
  EXPECT_EQ(same.exit_code, 0) << same.out << same.err;
  // The next night in the very same folder: the accepted nodes stay the baseline.
  ASSERT_EQ(nights.run(kFlowSuite, {"--fault", "second_best:mw/agreement"}).exit_code, 0);
  const auto red = nights({"gate", run, "--json"});
  EXPECT_EQ(red.exit_code, 1) << red.out << red.err;
  EXPECT_EQ(Json::parse(red.out).at("schema"), "npubench.gate/1");
  // Against a golden run too, which is whole: only the accepted one is as broken as tonight.
  ASSERT_EQ(nights({"gate", "accept", run, "--why", "wrongly", "--who", "tester"}).exit_code, 0);
  EXPECT_EQ(nights({"gate", run}).exit_code, 0);
  const auto golden = nights({"gate", run, "--golden", folder(*accepted_)});
  EXPECT_EQ(golden.exit_code, 1) << golden.out;
  EXPECT_NE(golden.out.find("against the golden run: "), std::string::npos) << golden.out;
  const std::string history = read_file(nights.results() / "accepted" / "history.jsonl").value();
  EXPECT_EQ(std::count(history.begin(), history.end(), '\n'), 2);
  const std::string gates = read_file(nights.results() / "gates.jsonl").value();
  EXPECT_EQ(std::count(gates.begin(), gates.end(), '\n'), 4);
}

TEST_F(GateFlow, TheControlComparesBits) {
  const Bench home;
  const auto sound = home({"gate", "aa", folder(*accepted_), folder(*again_)});
  EXPECT_EQ(sound.exit_code, 0) << sound.out;
  EXPECT_NE(sound.out.find("bit-identical"), std::string::npos) << sound.out;
  const Bench planted;
  ASSERT_EQ(changed(planted, {}).exit_code, 0);
  for (const auto& entry : fs::recursive_directory_iterator(planted.node("eval-base.mw")))
    if (entry.path().extension() == ".jsonl") {
      ASSERT_TRUE(append_file(entry.path(), " "));
      break;
    }
  EXPECT_EQ(home({"gate", "aa", folder(*accepted_), folder(planted)}).exit_code, 4);
  EXPECT_EQ(home({"gate", folder(*accepted_), folder(*again_), "--control", folder(planted),
                  "--results-dir", home.results().string()})
                .exit_code,
            4);
  EXPECT_EQ(home({"gate", "aa", folder(*accepted_), folder(*retrained_)}).exit_code, 4)
      << "other keys are no control";
}

TEST_F(GateFlow, ACardBecomesMargins) {
  const Bench home;
  const fs::path card = home.results() / "card.json", policy = home.results() / "policy.json";
  const auto made =
      home({"gate", "calibrate", folder(*accepted_), folder(*again_), "--out", card.string()});
  EXPECT_EQ(made.exit_code, 0) << made.err;
  ASSERT_TRUE(write_file(policy, "{\"noise_profile\": \"card.json\"}"));
  const Bench broken;
  ASSERT_EQ(changed(broken, {"--fault", "second_best:mw/agreement"}).exit_code, 0);
  const auto judge = [&](const std::vector<std::string>& more) {
    std::vector<std::string> arguments = {"gate", folder(*accepted_), folder(broken), "--json",
                                          "--no-history"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return Json::parse(home(arguments).out);
  };
  EXPECT_TRUE(judge({}).at("uncalibrated"));
  EXPECT_FALSE(judge({"--policy", policy.string()}).at("uncalibrated"));
  EXPECT_FALSE(fs::exists(accepted_->results() / "gates.jsonl"));
}

TEST_F(GateFlow, WritesEveryFormat) {
  const Bench home;
  const fs::path junit = home.results() / "gate.xml", markdown = home.results() / "gate.markdown";
  const auto judge = [&](const std::string& format) {
    return home({"gate", folder(*accepted_), folder(*again_), "--format", format, "--junit",
                 junit.string(), "--markdown", markdown.string(), "--no-history"});
  };
  EXPECT_TRUE(judge("text").out.starts_with("PASS (exit 0)"));
  EXPECT_EQ(judge("junit").out, read_file(junit).value());
  EXPECT_EQ(judge("markdown").out, read_file(markdown).value());
  EXPECT_EQ(Json::parse(judge("json").out).at("night"), "PASS");
  EXPECT_EQ(judge("yaml").exit_code, 64);
}

}  // namespace
}  // namespace nb::test
