// Records that are missing, new, failed, damaged or of another clock: a gate never passes over
// them.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "harness/base/fs.hpp"
#include "results/gate/gate.hpp"
#include "tests/results/fake_run.hpp"
#include "tests/results/verdict_with.hpp"

namespace nb {
namespace {

using test::even;
using test::FakeRun;
using test::verdict_with;

const std::vector<FakeRun::Task> kTwoOfTheWorld = {{"mw/agreement", 200, even},
                                                   {"mw/facts", 200, even}};

TEST(GateRecords, AMissingRecordIsAnErrorANewOneANote) {
  FakeRun base, candidate;
  base.add_prediction("h100_sxm", 1e8, 1e9);
  base.add_training("h100_sxm", 1, 1.5);
  candidate.add_prediction("h100_sxm", 1e8, 1e9);
  candidate.add_prediction("ascend_910b3", 1e8, 1e9);
  for (const std::int64_t seed : {2, 3}) candidate.add_training("ascend_910b3", seed, 1.5);
  for (const std::int64_t seed : {4, 5, 6}) candidate.add_training("ascend_910c", seed, 1.5);
  const GateResult result = gate(base.read(), candidate.read());
  EXPECT_EQ(result.exit_code, 4);
  EXPECT_EQ(text_of(verdict_with(result, "train base").reason), "the candidate has no such record");
  ASSERT_EQ(result.notes.size(), 3U);
  EXPECT_EQ(text_of(result.notes[0]), "new, no baseline: predict d20x8 on ascend_910b3");
  EXPECT_EQ(text_of(result.notes[1]), "new, no baseline: train base on ascend_910b3, seeds 2, 3");
  EXPECT_EQ(text_of(result.notes[2]), "new, no baseline: train base on ascend_910c, seeds 4 to 6");
}

// A night whose new nodes had failed was a PASS that called them new.
TEST(GateRecords, ANewNodeThatFailedIsAnError) {
  FakeRun base, candidate;
  base.add_prediction("h100_sxm", 1e8, 1e9);
  candidate.add_prediction("h100_sxm", 1e8, 1e9);
  candidate.add_training("h100_sxm", 1, 1.5, 0, [](Record& record) {
    record.status = "failed";
    record.error = "no such program";
  });
  const GateResult result = gate(base.read(), candidate.read());
  EXPECT_EQ(result.exit_code, 4) << gate_text(result);
  EXPECT_EQ(text_of(verdict_with(result, "train base").reason), "the node failed: no such program");
}

// One known answer that is lost is no matter of chance.
TEST(GateRecords, AProbeHasNoNoiseAndNoMargin) {
  const auto add = [](FakeRun& run, double accuracy) {
    Record record = run.add_prediction("h100_sxm", 1e8, 1e9);
    record.kind = "probe";
    record.name = "probes";
    record.node_key = std::string(64, accuracy == 1 ? 'a' : 'b');  // other code
    record.subject["weights"] = "w";
    record.metrics = {test::metric_of("probe/choice_tie/accuracy", accuracy, "1",
                                      Direction::kHigher, Clock::kNone, 4)};
    run.add(record);
  };
  FakeRun all, again, lost;
  add(all, 1);
  add(again, 1);
  add(lost, .75);
  EXPECT_EQ(gate(all.read(), again.read()).exit_code, 0)
      << gate_text(gate(all.read(), again.read()));
  // Also where a policy declares a family that has no probes.
  GatePolicy policy;
  policy.gated_tasks = {"mw/facts"};
  const auto verdict = verdict_with(gate(all.read(), lost.read(), policy), "probe/choice_tie");
  EXPECT_EQ(verdict.verdict, Verdict::kRegressed);
  EXPECT_EQ(text_of(verdict.reason),
            "4 → 3 of 4 known answers: what it looks at behaves differently");
  EXPECT_EQ(verdict_with(gate(lost.read(), all.read()), "probe/choice_tie").verdict,
            Verdict::kImproved);
}

TEST(GateRecords, AnEmptySideIsAnError) {
  FakeRun run;
  run.add_prediction("h100_sxm", 1e8, 1e9);
  const RunRecords empty;
  EXPECT_EQ(gate(empty, run.read()).exit_code, 4);
  EXPECT_EQ(gate(run.read(), empty).exit_code, 4);
  EXPECT_EQ(gate(empty, empty).exit_code, 4);
}

TEST(GateRecords, ADamagedItemsFileIsAnErrorNotAPass) {
  FakeRun base, candidate;
  base.add_evaluation("h100_sxm", 1, "w", kTwoOfTheWorld);
  const Record record = candidate.add_evaluation("h100_sxm", 1, "w", kTwoOfTheWorld);
  const auto path = candidate.folder_of(record) / "items/mw_facts.jsonl";
  auto text = read_file(path);
  ASSERT_TRUE(text);
  text->replace(text->find("\"o\":1"), 5, "\"o\":0");
  ASSERT_TRUE(write_file(path, *text));
  const GateResult result = gate(base.read(), candidate.read());
  EXPECT_EQ(result.exit_code, 4) << gate_text(result);
  EXPECT_NE(text_of(verdict_with(result, "mw/facts").reason).find("candidate: "),
            std::string::npos);
  EXPECT_NE(text_of(verdict_with(result, "mw/facts").reason).find("damaged"), std::string::npos);
}

// A damaged checkpoint or steps.csv stood under "PASS, bit-identical".
TEST(GateRecords, ADamagedCheckpointOrCurveIsAnErrorNotAPass) {
  for (const char* file : {"steps.csv", "checkpoints/step_000060.safetensors"}) {
    FakeRun base, candidate;
    const auto with_checkpoint = [](FakeRun& run) {
      return run.add_training("h100_sxm", 1, 1.5, 0, [&](Record& record) {
        const auto path = run.folder_of(record) / "checkpoints/step_000060.safetensors";
        std::filesystem::create_directories(path.parent_path());
        ASSERT_TRUE(write_file(path, "weights"));
        record.artifacts["checkpoints/step_000060.safetensors"] = "";
      });
    };
    with_checkpoint(base);
    const Record record = with_checkpoint(candidate);
    EXPECT_EQ(gate(base.read(), candidate.read()).night, Verdict::kPass);
    ASSERT_TRUE(append_file(candidate.folder_of(record) / file, "x"));
    const GateResult result = gate(base.read(), candidate.read());
    EXPECT_EQ(result.exit_code, 4) << gate_text(result);
    const std::string reason = text_of(verdict_with(result, "train base").reason);
    EXPECT_TRUE(reason.starts_with("candidate: ")) << reason;
    EXPECT_NE(reason.find(std::string(file) + ": damaged"), std::string::npos) << reason;
  }
}

TEST(GateRecords, DamagedRecordsOfEitherSideAreErrors) {
  FakeRun run;
  run.add_prediction("h100_sxm", 1e8, 1e9);
  RunRecords damaged = run.read();
  damaged.damaged.push_back("x/record.json: torn");
  EXPECT_EQ(gate(damaged, run.read()).exit_code, 4);
  EXPECT_EQ(gate(run.read(), damaged).exit_code, 4);
}

TEST(GateRecords, AFailedNodeIsAnError) {
  FakeRun base, candidate;
  base.add_evaluation("h100_sxm", 1, "w", kTwoOfTheWorld);
  candidate.add_evaluation("h100_sxm", 1, "w", kTwoOfTheWorld, [](Record& record) {
    record.status = "failed";
    record.error = "simulated out of memory";
  });
  const GateResult result = gate(base.read(), candidate.read());
  EXPECT_EQ(result.exit_code, 4);
  EXPECT_EQ(text_of(result.verdicts[0].reason),
            "the candidate's node failed: simulated out of memory");
}

TEST(GateRecords, AMetricThatBecomesNullIsAnError) {
  FakeRun base, candidate;
  base.add_prediction("h100_sxm", 1e8, 1e9);
  candidate.add_prediction("h100_sxm", 1e8, 1e9);
  RunRecords b = candidate.read();
  Metric& memory = b.records[0].record.metrics[2];
  memory.value.reset();
  memory.reason_if_null = "no counter";
  const GateResult result = gate(base.read(), b);
  EXPECT_EQ(result.exit_code, 4);
  EXPECT_EQ(text_of(verdict_with(result, "peak_memory_bytes").reason),
            "the candidate could not measure it: no counter");
  b.records[0].record.metrics.pop_back();
  EXPECT_EQ(gate(base.read(), b).exit_code, 4);
}

TEST(GateRecords, ClocksAreNotMixed) {
  FakeRun base;
  base.add_prediction("h100_sxm", 1e8, 1e9);
  RunRecords b = base.read();
  b.records[0].record.metrics[0].clock = Clock::kNone;
  b.records[0].record.node_key = std::string(64, 'b');
  const GateResult result = gate(base.read(), b);
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_NE(text_of(verdict_with(result, "step_time_ns").reason).find("clock"), std::string::npos);
}

}  // namespace
}  // namespace nb
