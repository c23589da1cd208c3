#include "results/gate.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "harness/base/fs.hpp"
#include "tests/results/fake_run.hpp"

namespace nb {
namespace {

using test::FakeRun;

bool even(int i) { return i % 2 == 0; }
bool odd(int i) { return i % 2 == 1; }
const std::vector<FakeRun::Task> kTwoTasks = {{"mw/agreement", 200, even}, {"mw/facts", 200, even}};

const TaskVerdict& of(const GateResult& result, const std::string& part) {
  const auto at = std::find_if(result.verdicts.begin(), result.verdicts.end(), [&](const auto& v) {
    return v.task.find(part) != std::string::npos;
  });
  EXPECT_NE(at, result.verdicts.end()) << part << "\n" << gate_text(result);
  return *at;
}

std::string first_line(const GateResult& result) {
  const std::string text = gate_text(result);
  return text.substr(0, text.find('\n'));
}

TEST(Gate, TheSameRunTwicePassesWithoutStatistics) {
  FakeRun run;
  run.add_training("ascend_910b3", 1, 1.5);
  run.add_evaluation("ascend_910b3", 1, "w", kTwoTasks);
  run.add_prediction("h100_sxm", 1e8, 1e9);
  const GateResult result = gate(run.read(), run.read());
  EXPECT_EQ(result.night, Verdict::kPass);
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(first_line(result), "PASS (exit 0): 3 checks, 3 bit-identical");
  EXPECT_FALSE(result.uncalibrated) << "no statistics, nothing to calibrate";
}

TEST(Gate, APlantedFaultInOneTaskIsRed) {
  FakeRun base, candidate;
  base.add_evaluation("ascend_910b3", 1, "w", kTwoTasks);
  candidate.add_evaluation(
      "ascend_910b3", 1, "w",
      {{"mw/agreement", 200, even}, {"mw/facts", 200, [](int i) { return i % 2 == 0 && i > 60; }}});
  const GateResult result = gate(base.read(), candidate.read());
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_EQ(of(result, "mw/facts/accuracy").verdict, Verdict::kRegressed);
  EXPECT_EQ(of(result, "mw/agreement/accuracy").verdict, Verdict::kPass);
  EXPECT_EQ(of(result, "mw/agreement/accuracy").test, "identical");
  EXPECT_EQ(of(result, "mw/facts/accuracy").counts->only_a, 31);
  EXPECT_TRUE(result.uncalibrated);
  const std::string text = gate_text(result);
  EXPECT_TRUE(text.starts_with("REGRESSED (exit 1)")) << text;
  EXPECT_NE(
      text.find(
          "\nREGRESSED  mw/facts/accuracy of eval base.core on ascend_910b3, seed 1: 31 of 200"),
      std::string::npos)
      << text;
  EXPECT_NE(text.find("uncalibrated"), std::string::npos);
}

TEST(Gate, AnotherFewShotSeedIsIncomparableAndNamed) {
  FakeRun base, candidate;
  base.add_evaluation("ascend_910b3", 1, "w", kTwoTasks);
  candidate.add_evaluation("ascend_910b3", 1, "w",
                           {{"mw/agreement", 200, even}, {"mw/facts", 200, odd}},
                           [](Record& record) {
                             record.comparability["mw/facts/few_shot_seed"] = "99";
                             record.comparability["mw/facts/prompts"] = "p2";
                           });
  const GateResult result = gate(base.read(), candidate.read());
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_EQ(of(result, "mw/facts/accuracy").verdict, Verdict::kIncomparable);
  EXPECT_EQ(of(result, "mw/facts/accuracy").reason, "mw/facts/few_shot_seed differs: 1234 and 99");
  EXPECT_EQ(of(result, "mw/agreement/accuracy").verdict, Verdict::kPass);
}

TEST(Gate, ARecordWideHashConcernsTheWholeRecord) {
  FakeRun base, candidate;
  base.add_evaluation("ascend_910b3", 1, "w", kTwoTasks);
  candidate.add_evaluation("ascend_910b3", 1, "w", kTwoTasks,
                           [](Record& record) { record.comparability["tokenizer"] = "t2"; });
  const GateResult result = gate(base.read(), candidate.read());
  EXPECT_EQ(result.exit_code, 3);
  ASSERT_EQ(result.verdicts.size(), 1U);
  EXPECT_EQ(result.verdicts[0].reason, "tokenizer differs: t1 and t2");
}

TEST(Gate, RetrainedModelsAreAQuestionOfSeeds) {
  FakeRun base, candidate;
  base.add_training("ascend_910b3", 1, 1.5);
  base.add_evaluation("ascend_910b3", 1, "w", kTwoTasks);
  candidate.add_training("ascend_910b3", 1, 1.9);
  candidate.add_evaluation("ascend_910b3", 1, "other weights",
                           {{"mw/agreement", 200, odd}, {"mw/facts", 200, even}});
  const GateResult result = gate(base.read(), candidate.read());
  EXPECT_EQ(result.exit_code, 0) << gate_text(result);
  EXPECT_EQ(of(result, "val_bpb").verdict, Verdict::kInconclusive);
  EXPECT_TRUE(first_line(result).starts_with("can't tell (exit 0): ")) << first_line(result);
  EXPECT_NE(first_line(result).find("needs at least 5 a side"), std::string::npos);
  EXPECT_EQ(gate(base.read(), candidate.read(), {}, {.strict = true}).exit_code, 2);
}

TEST(Gate, FiveSeedsASideCanBeRed) {
  FakeRun base, candidate;
  for (const std::int64_t seed : {1, 2, 3, 4, 5}) {
    base.add_training("h100_sxm", seed, 1.5 + 0.001 * static_cast<double>(seed));
    candidate.add_training("h100_sxm", seed, 1.52 + 0.001 * static_cast<double>(seed));
  }
  const GateResult result = gate(base.read(), candidate.read());
  EXPECT_EQ(result.exit_code, 1) << gate_text(result);
  EXPECT_EQ(of(result, "val_bpb").verdict, Verdict::kRegressed);
  EXPECT_EQ(of(result, "val_bpb").test, "seeds");
}

TEST(Gate, SimulatedCountsAreExact) {
  FakeRun base, candidate;
  base.add_prediction("h100_sxm", 100000000, 1e9);
  candidate.add_prediction("h100_sxm", 100000001, 999999999);
  const GateResult result = gate(base.read(), candidate.read());
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_EQ(of(result, "step_time_ns").verdict, Verdict::kRegressed);
  EXPECT_EQ(of(result, "peak_memory_bytes").verdict, Verdict::kImproved);
}

TEST(Gate, AMissingRecordIsAnErrorANewOneANote) {
  FakeRun base, candidate;
  base.add_prediction("h100_sxm", 1e8, 1e9);
  base.add_training("h100_sxm", 1, 1.5);
  candidate.add_prediction("h100_sxm", 1e8, 1e9);
  candidate.add_prediction("ascend_910b3", 1e8, 1e9);
  const GateResult result = gate(base.read(), candidate.read());
  EXPECT_EQ(result.exit_code, 4);
  EXPECT_EQ(of(result, "train base").reason, "the candidate has no such record");
  ASSERT_EQ(result.notes.size(), 1U);
  EXPECT_EQ(result.notes[0], "new, no baseline: predict d20x8 on ascend_910b3");
}

TEST(Gate, AnEmptySideIsAnError) {
  FakeRun run;
  run.add_prediction("h100_sxm", 1e8, 1e9);
  const RunRecords empty;
  EXPECT_EQ(gate(empty, run.read()).exit_code, 4);
  EXPECT_EQ(gate(run.read(), empty).exit_code, 4);
  EXPECT_EQ(gate(empty, empty).exit_code, 4);
}

TEST(Gate, ADamagedItemsFileIsAnErrorNotAPass) {
  FakeRun base, candidate;
  base.add_evaluation("h100_sxm", 1, "w", kTwoTasks);
  const Record record = candidate.add_evaluation("h100_sxm", 1, "w", kTwoTasks);
  const auto path = candidate.folder_of(record) / "items/mw_facts.jsonl";
  auto text = read_file(path);
  ASSERT_TRUE(text);
  text->replace(text->find("\"o\":1"), 5, "\"o\":0");
  ASSERT_TRUE(write_file(path, *text));
  const GateResult result = gate(base.read(), candidate.read());
  EXPECT_EQ(result.exit_code, 4) << gate_text(result);
  EXPECT_NE(of(result, "mw/facts").reason.find("candidate: "), std::string::npos);
  EXPECT_NE(of(result, "mw/facts").reason.find("damaged"), std::string::npos);
}

TEST(Gate, DamagedRecordsOfEitherSideAreErrors) {
  FakeRun run;
  run.add_prediction("h100_sxm", 1e8, 1e9);
  RunRecords damaged = run.read();
  damaged.damaged.push_back("x/record.json: torn");
  EXPECT_EQ(gate(damaged, run.read()).exit_code, 4);
  EXPECT_EQ(gate(run.read(), damaged).exit_code, 4);
}

TEST(Gate, AFailedNodeIsAnError) {
  FakeRun base, candidate;
  base.add_evaluation("h100_sxm", 1, "w", kTwoTasks);
  candidate.add_evaluation("h100_sxm", 1, "w", kTwoTasks, [](Record& record) {
    record.status = "failed";
    record.error = "simulated out of memory";
  });
  const GateResult result = gate(base.read(), candidate.read());
  EXPECT_EQ(result.exit_code, 4);
  EXPECT_EQ(result.verdicts[0].reason, "the candidate's node failed: simulated out of memory");
}

TEST(Gate, AMetricThatBecomesNullIsAnError) {
  FakeRun base, candidate;
  base.add_prediction("h100_sxm", 1e8, 1e9);
  candidate.add_prediction("h100_sxm", 1e8, 1e9);
  RunRecords b = candidate.read();
  Metric& memory = b.records[0].record.metrics[2];
  memory.value.reset();
  memory.reason_if_null = "no counter";
  const GateResult result = gate(base.read(), b);
  EXPECT_EQ(result.exit_code, 4);
  EXPECT_EQ(of(result, "peak_memory_bytes").reason,
            "the candidate could not measure it: no counter");
  b.records[0].record.metrics.pop_back();
  EXPECT_EQ(gate(base.read(), b).exit_code, 4);
}

TEST(Gate, ClocksAreNotMixed) {
  FakeRun base;
  base.add_prediction("h100_sxm", 1e8, 1e9);
  RunRecords b = base.read();
  b.records[0].record.metrics[0].clock = Clock::kNone;
  const GateResult result = gate(base.read(), b);
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_NE(of(result, "step_time_ns").reason.find("clock"), std::string::npos);
}

TEST(Gate, GeneratedAndRealTasksAreIncomparable) {
  FakeRun base, candidate;
  base.add_evaluation("h100_sxm", 1, "w", {{"arc_easy", 200, even}});
  candidate.add_evaluation("h100_sxm", 1, "w", {{"mw/arc_easy", 200, even}});
  const GateResult result = gate(base.read(), candidate.read());
  EXPECT_EQ(result.exit_code, 3) << gate_text(result);
}

TEST(Gate, WithoutWeightsAnEvaluationIsIncomparable) {
  FakeRun base, candidate;
  const auto forget = [](Record& record) { record.subject.erase("weights"); };
  base.add_evaluation("h100_sxm", 1, "w", {{"mw/facts", 200, even}}, forget);
  candidate.add_evaluation("h100_sxm", 1, "w", {{"mw/facts", 200, odd}}, forget);
  EXPECT_EQ(gate(base.read(), candidate.read()).exit_code, 3) << "the same scores of other answers";
}

TEST(Gate, WorstOfSeveralDecidesTheExitCode) {
  FakeRun base, candidate;
  base.add_evaluation("h100_sxm", 1, "w", kTwoTasks);
  base.add_prediction("h100_sxm", 1e8, 1e9);
  base.add_training("h100_sxm", 1, 1.5);  // missing in the candidate: ERROR
  candidate.add_evaluation("h100_sxm", 1, "w", kTwoTasks,
                           [](Record& record) { record.comparability["tokenizer"] = "t2"; });
  candidate.add_prediction("h100_sxm", 2e8, 1e9);  // slower: REGRESSED
  const GateResult result = gate(base.read(), candidate.read());
  EXPECT_EQ(result.exit_code, 1);
  std::string order;
  for (const TaskVerdict& v : result.verdicts) order += std::string(name(v.verdict)) + " ";
  EXPECT_EQ(order, "REGRESSED REGRESSED ERROR INCOMPARABLE PASS ") << gate_text(result);
}

TEST(Gate, TasksOutsideTheDeclaredFamilyAreShownNotJudged) {
  FakeRun base, candidate;
  base.add_evaluation("h100_sxm", 1, "w", kTwoTasks);
  candidate.add_evaluation("h100_sxm", 1, "w",
                           {{"mw/agreement", 200, even}, {"mw/facts", 200, odd}});
  GatePolicy policy;
  policy.gated_tasks = {"mw/agreement"};
  const GateResult result = gate(base.read(), candidate.read(), policy);
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_FALSE(result.notes.empty());
}

// A slip of the pen in the family, and nothing was judged: PASS.
TEST(Gate, ADeclaredTaskThatNeitherRunHasIsAnError) {
  FakeRun base, candidate;
  base.add_evaluation("h100_sxm", 1, "w", kTwoTasks);
  candidate.add_evaluation("h100_sxm", 1, "w", kTwoTasks);
  GatePolicy policy;
  policy.gated_tasks = {"mw/agreement", "mw/fact"};
  const GateResult result = gate(base.read(), candidate.read(), policy);
  EXPECT_EQ(result.exit_code, 4);
  EXPECT_NE(gate_text(result).find("gated_tasks: neither run has the task mw/fact"),
            std::string::npos)
      << gate_text(result);
}

TEST(Gate, MoreUnscoredItemsOnOneSideAreAnError) {
  FakeRun base, candidate;
  base.add_evaluation("h100_sxm", 1, "w", {{"mw/facts", 200, even}});
  const auto timeouts = [&](Record& record) {
    const auto folder = candidate.folder_of(record) / "items/mw_facts.jsonl";
    auto text = read_file(folder);
    ASSERT_TRUE(text);
    std::size_t from = 0;
    for (int i = 0; i < 5; ++i) {
      from = text->find("}\n", text->find("\"o\":0", from));
      text->insert(from, ",\"r\":\"timeout\"");
    }
    ASSERT_TRUE(write_file(folder, *text));
  };
  candidate.add_evaluation("h100_sxm", 1, "w", {{"mw/facts", 200, even}}, timeouts);
  const GateResult result = gate(base.read(), candidate.read());
  EXPECT_EQ(result.exit_code, 4) << gate_text(result);
  EXPECT_NE(of(result, "mw/facts").reason.find("could not be scored"), std::string::npos);
}

TEST(Gate, JsonHoldsEveryVerdict) {
  FakeRun base, candidate;
  base.add_evaluation("h100_sxm", 1, "w", kTwoTasks);
  candidate.add_evaluation("h100_sxm", 1, "w",
                           {{"mw/agreement", 200, even}, {"mw/facts", 200, odd}});
  const GateResult result = gate(base.read(), candidate.read());
  const Json json = gate_json(result);
  EXPECT_EQ(json["exit_code"], result.exit_code);
  EXPECT_EQ(json["verdicts"].size(), result.verdicts.size());
  EXPECT_EQ(json["verdicts"][0]["items"]["only_base"], 100);
  EXPECT_TRUE(dump_json(json));
}

TEST(GatePolicy, RejectsUnknownKeysAndBadNumbers) {
  const auto bad = parse_struct<GatePolicy>(Json{{"alfa", .05}}, "gate.json");
  ASSERT_FALSE(bad);
  EXPECT_NE(bad.error().message.find("alpha"), std::string::npos);
  EXPECT_FALSE(parse_struct<GatePolicy>(Json{{"alpha", 0.9}}, "gate.json"));
  const auto good = parse_struct<GatePolicy>(Json{{"margins", {{"mw/facts", 0.02}}}}, "gate.json");
  ASSERT_TRUE(good) << good.error().message;
  EXPECT_EQ(good->margins.at("mw/facts"), 0.02);
}

}  // namespace
}  // namespace nb
