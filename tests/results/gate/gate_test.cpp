#include "results/gate/gate.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "harness/base/fs.hpp"
#include "results/store/comparability.hpp"
#include "tests/results/fake_run.hpp"
#include "tests/results/verdict_with.hpp"

namespace nb {
namespace {

using test::even;
using test::FakeRun;
using test::verdict_with;

bool odd(int i) { return i % 2 == 1; }
const std::vector<FakeRun::Task> kTwoTasks = {{"mw/agreement", 200, even}, {"mw/facts", 200, even}};

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
  EXPECT_EQ(verdict_with(result, "mw/facts/accuracy").verdict, Verdict::kRegressed);
  EXPECT_EQ(verdict_with(result, "mw/agreement/accuracy").verdict, Verdict::kPass);
  EXPECT_EQ(verdict_with(result, "mw/agreement/accuracy").test, "identical");
  EXPECT_EQ(verdict_with(result, "mw/facts/accuracy").counts->only_a, 31);
  EXPECT_TRUE(result.uncalibrated);
  const std::string text = gate_text(result);
  EXPECT_TRUE(text.starts_with("REGRESSED (exit 1)")) << text;
  EXPECT_NE(text.find("\nREGRESSED  mw/facts/accuracy of eval base.core on ascend_910b3, seed 1:"),
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
  EXPECT_EQ(verdict_with(result, "mw/facts/accuracy").verdict, Verdict::kIncomparable);
  EXPECT_EQ(text_of(verdict_with(result, "mw/facts/accuracy").reason),
            "mw/facts/few_shot_seed differs: 1234 and 99");
  EXPECT_EQ(verdict_with(result, "mw/agreement/accuracy").verdict, Verdict::kPass);
}

TEST(Gate, ARecordWideHashConcernsTheWholeRecord) {
  FakeRun base, candidate;
  base.add_evaluation("ascend_910b3", 1, "w", kTwoTasks);
  candidate.add_evaluation("ascend_910b3", 1, "w", kTwoTasks,
                           [](Record& record) { record.comparability["tokenizer"] = "t2"; });
  const GateResult result = gate(base.read(), candidate.read());
  EXPECT_EQ(result.exit_code, 3);
  ASSERT_EQ(result.verdicts.size(), 1U);
  EXPECT_EQ(text_of(result.verdicts[0].reason), "tokenizer differs: t1 and t2");
}

TEST(Gate, RetrainedModelsAreAQuestionOfSeeds) {
  FakeRun base, candidate;
  base.add_training("ascend_910b3", 1, 1.5);
  base.add_evaluation("ascend_910b3", 1, "w", kTwoTasks);
  candidate.add_training("ascend_910b3", 1, 1.51);
  candidate.add_evaluation("ascend_910b3", 1, "other weights",
                           {{"mw/agreement", 200, odd}, {"mw/facts", 200, even}});
  const GateResult result = gate(base.read(), candidate.read());
  EXPECT_EQ(result.exit_code, 0) << gate_text(result);
  EXPECT_EQ(verdict_with(result, "val_bpb").verdict, Verdict::kInconclusive);
  EXPECT_TRUE(first_line(result).starts_with("can't tell (exit 0): ")) << first_line(result);
  EXPECT_NE(gate_headline(result).find("at least 5 seeds"), std::string::npos);
  EXPECT_EQ(gate(base.read(), candidate.read(), {}, {.strict = true}).exit_code, 2);
}

TEST(Gate, FiveSeedsASideCanBeRed) {
  FakeRun base, candidate;
  for (const std::int64_t seed : {1, 2, 3, 4, 5}) {
    base.add_training("h100_sxm", seed, 1.5 + 0.001 * static_cast<double>(seed));
    candidate.add_training("h100_sxm", seed, 1.52 + 0.0011 * static_cast<double>(seed));
  }
  const GateResult result = gate(base.read(), candidate.read());
  EXPECT_EQ(result.exit_code, 1) << gate_text(result);
  EXPECT_EQ(verdict_with(result, "val_bpb").verdict, Verdict::kRegressed);
  EXPECT_EQ(verdict_with(result, "val_bpb").test, "seeds");
}

TEST(Gate, SimulatedCountsAreExact) {
  FakeRun base, candidate;
  base.add_prediction("h100_sxm", 100000000, 1e9);
  candidate.add_prediction("h100_sxm", 100000001, 999999999);
  const GateResult result = gate(base.read(), candidate.read());
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_EQ(verdict_with(result, "step_time_ns").verdict, Verdict::kRegressed);
  EXPECT_EQ(verdict_with(result, "peak_memory_bytes").verdict, Verdict::kImproved);
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
  EXPECT_NE(text_of(verdict_with(result, "mw/facts").reason).find("could not be scored"),
            std::string::npos);
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

// A scorer that sums log-probabilities instead of averaging them: 7, 4, 2, 4 and 7 more right
// answers over five seeds, none lost, and another scale of every log-probability.
TEST(Gate, EqualWeightsThatAreScoredOtherwiseAreRedOverSeeds) {
  const int won[] = {7, 4, 2, 4, 7};
  for (const bool with_scale : {false, true}) {
    FakeRun base, candidate;
    for (int seed = 1; seed <= 5; ++seed) {
      const int more = won[seed - 1];
      const auto summed = [=](int i) {
        const float right = i % 2 == 0 || i < 2 * more ? -1.0F : -2.0F;
        return std::vector<float>{-1.5F * (with_scale ? 3.0F : 1.0F),
                                  right * (with_scale ? 2.0F : 1.0F)};
      };
      base.add_evaluation("h100_sxm", seed, "weights of the same checkpoint",
                          {{"mw/facts", 180, even}});
      candidate.add_evaluation(
          "h100_sxm", seed, "weights of the same checkpoint",
          {{"mw/facts", 180, [=](int i) { return i % 2 == 0 || i < 2 * more; }, summed}});
    }
    const GateResult result = gate(base.read(), candidate.read());
    EXPECT_EQ(result.exit_code, 1) << gate_text(result);
    EXPECT_EQ(result.night, Verdict::kSuspicious);
    EXPECT_EQ(verdict_with(result, "mw/facts of eval base.core on h100_sxm").counts->only_b, 24);
    EXPECT_NE(gate_headline(result).find("identical weights were scored differently"),
              std::string::npos)
        << gate_headline(result);
    EXPECT_NE(text_of(result.verdicts[0].reason)
                  .find(with_scale ? "half of the margins moved" : "flips in one direction"),
              std::string::npos)
        << text_of(result.verdicts[0].reason);
  }
}

// A stale key-value cache: other texts from the second token on, none of them right before or
// after.
TEST(Gate, TextsOfEqualWeightsThatAllPartEarlyAreRedWhateverTheirScores) {
  for (const int changed : {119, 12}) {
    FakeRun base, candidate;
    const auto wrong = [](int) { return false; };
    const auto text = [](int changed_texts) {
      return [=](int i) {
        return std::string("The answer is ") + (i < changed_texts ? "five" : "four") +
               " and nothing else, as everybody knows.";
      };
    };
    base.add_evaluation("h100_sxm", 1, "w", {{"mw/gsm8k", 120, wrong, {}, text(0)}});
    candidate.add_evaluation("h100_sxm", 1, "w", {{"mw/gsm8k", 120, wrong, {}, text(changed)}});
    const GateResult result = gate(base.read(), candidate.read());
    EXPECT_EQ(result.exit_code, changed > 60 ? 1 : 0) << gate_text(result);
    EXPECT_EQ(gate_text(result).find("119 of 120 texts part") != std::string::npos, changed > 60)
        << gate_text(result);
  }
}

// 349 of 360 texts that differ were "as rounding does".
TEST(Gate, MostTextsDifferingIsSaid) {
  FakeRun base, candidate;
  const auto wrong = [](int) { return false; };
  const auto text = [](const char* end) {
    return [=](int) { return std::string("The answer is four, as everybody knows, or ") + end; };
  };
  base.add_evaluation("h100_sxm", 1, "w", {{"mw/gsm8k", 120, wrong, {}, text("so")}});
  candidate.add_evaluation("h100_sxm", 1, "w", {{"mw/gsm8k", 120, wrong, {}, text("not")}});
  const std::string said = text_of(
      verdict_with(gate(base.read(), candidate.read()), "mw/gsm8k of eval base.core").reason);
  EXPECT_NE(said.find("120 of 120 texts differ"), std::string::npos) << said;
  EXPECT_EQ(said.find("as rounding does"), std::string::npos) << said;
}

TEST(Gate, RoundingOfLogProbabilitiesIsNotRed) {
  FakeRun base, candidate;
  const auto rounded = [](float by) {
    return [by](int i) {
      const float sign = i % 4 < 2 ? 1.0F : -1.0F;
      return std::vector<float>{-1.5F, (i % 2 == 0 ? -1.0F : -2.0F) + sign * by};
    };
  };
  base.add_evaluation("h100_sxm", 1, "w", {{"mw/facts", 180, even, rounded(0)}});
  candidate.add_evaluation("h100_sxm", 1, "w", {{"mw/facts", 180, even, rounded(.002F)}});
  const GateResult result = gate(base.read(), candidate.read());
  EXPECT_EQ(result.night, Verdict::kPass) << gate_text(result);
  EXPECT_NE(gate_headline(result).find("identical weights were scored differently"),
            std::string::npos);
}

TEST(Gate, AnotherValueOfEqualWeightsIsAnotherMetric) {
  FakeRun base, candidate;
  base.add_training("h100_sxm", 1, 1.5);
  candidate.add_training("h100_sxm", 1, 1.5, 0,
                         [](Record& record) { record.metrics[1].value = 1.49; });
  const GateResult result = gate(base.read(), candidate.read());
  EXPECT_NE(result.exit_code, 0) << gate_text(result);
  EXPECT_EQ(verdict_with(result, "val_bpb").verdict, Verdict::kIncomparable);
  EXPECT_NE(gate_headline(result).find("equal"), std::string::npos) << gate_headline(result);
}

// CORE's centring baseline × 0.8 was "PASS (exit 0): the metric itself changed".
TEST(Gate, ADerivedMetricThatChangedUnderEqualAnswersIsIncomparable) {
  const auto with_core = [](double guessing) {
    return [=](Record& record) {
      double sum = 0;
      for (Metric& metric : record.metrics) {
        if (!metric.name.ends_with("/centred")) continue;
        const double accuracy =
            *find_metric(record, task_of_metric(metric.name) + "/accuracy")->value;
        metric.value = (accuracy - guessing) / (1 - guessing);
        sum += *metric.value;
      }
      record.metrics.push_back(
          test::metric_of("core", sum / 2, "1", Direction::kHigher, Clock::kNone, 2));
    };
  };
  const auto one_more = [](int i) { return i % 2 == 0 || i == 7; };
  FakeRun base, centred, rescored;
  base.add_evaluation("h100_sxm", 1, "w", kTwoTasks, with_core(.25));
  centred.add_evaluation("h100_sxm", 1, "w", kTwoTasks, with_core(.2));
  rescored.add_evaluation("h100_sxm", 1, "w",
                          {{"mw/agreement", 200, even}, {"mw/facts", 200, one_more}},
                          with_core(.2));
  const RunRecords a = base.read();
  RunRecords b = centred.read();
  b.records[0].record.node_key = std::string(64, 'f');  // as another program's
  const GateResult result = gate(a, b);
  EXPECT_EQ(result.exit_code, 3) << gate_text(result);
  for (const char* metric : {"mw/agreement/centred", "mw/facts/centred", "core"})
    EXPECT_EQ(verdict_with(result, metric + std::string(" of")).verdict, Verdict::kIncomparable)
        << metric;
  EXPECT_TRUE(gate_headline(result).starts_with("INCOMPARABLE (exit 3): the metric itself changed"))
      << gate_headline(result);
  // Answers that moved as well do not hide it.
  EXPECT_EQ(verdict_with(gate(a, rescored.read()), "mw/facts/centred").verdict,
            Verdict::kIncomparable);
}

// Trained on the validation data, a metric that doubled, a mask that leaks: with one seed and four.
TEST(Gate, GrossChangesAreRedWithOneSeedAndWithFour) {
  for (const int seeds : {1, 4}) {
    FakeRun base, leak, broken, masked;
    for (int seed = 1; seed <= seeds; ++seed) {
      const double spread = .002 * seed;
      base.add_training("h100_sxm", seed, .355 + spread);
      base.add_evaluation("h100_sxm", seed, "w" + std::to_string(seed),
                          {{"mw/cloze", 180, [](int i) { return i > 1; }}});
      leak.add_training("h100_sxm", seed, .083 + spread);
      broken.add_training("h100_sxm", seed, 1.41 + spread);
      masked.add_training("h100_sxm", seed, .353 + spread);
      const auto guess = [](int i) { return i % 4 == 0; };
      for (FakeRun* run : {&leak, &broken, &masked})
        run->add_evaluation("h100_sxm", seed, "v" + std::to_string(seed),
                            {{"mw/cloze", 180, guess}});
    }
    const RunRecords a = base.read(), b = leak.read(), c = broken.read(), d = masked.read();
    EXPECT_EQ(verdict_with(gate(a, b), "val_bpb").verdict, Verdict::kSuspicious) << seeds;
    EXPECT_EQ(verdict_with(gate(a, c), "val_bpb").verdict, Verdict::kRegressed) << seeds;
    EXPECT_EQ(gate(a, d).exit_code, 1) << seeds;
    EXPECT_EQ(verdict_with(gate(a, d), "mw/cloze/accuracy").verdict, Verdict::kRegressed) << seeds;
  }
}

TEST(Gate, ChangedSettingsAreNamedAsTheLikelyCause) {
  FakeRun base, candidate;
  base.add_training("h100_sxm", 1, 1.5);
  candidate.add_training("h100_sxm", 1, 1.502, .006,
                         [](Record& record) { (*record.settings)["train"]["lr"] = .01; });
  const GateResult result = gate(base.read(), candidate.read());
  EXPECT_EQ(result.exit_code, 1) << gate_text(result);
  EXPECT_EQ(result.night, Verdict::kSuspicious);
  EXPECT_NE(
      gate_text(result).find("likely cause: changed settings: /settings/train/lr 0.02 → 0.01"),
      std::string::npos)
      << gate_text(result);
  EXPECT_TRUE(gate_headline(result).starts_with(
      "SUSPICIOUS (exit 1): the training procedure changed: train base on h100_sxm, seed 1"))
      << gate_headline(result);
  GatePolicy policy;
  policy.allow_procedure_change = true;
  EXPECT_EQ(gate(base.read(), candidate.read(), policy).exit_code, 0);
}

TEST(Gate, RoundingInTrainingIsNotAnotherProcedure) {
  FakeRun base, candidate;
  base.add_training("h100_sxm", 1, 1.5);
  candidate.add_training("h100_sxm", 1, 1.501, 1e-5);
  const GateResult result = gate(base.read(), candidate.read());
  EXPECT_EQ(result.night, Verdict::kInconclusive) << gate_text(result);
  EXPECT_EQ(result.exit_code, 0);
}

TEST(Gate, EqualMetricsAreOneTest) {
  FakeRun base, candidate;
  const auto same_minimum = [](Record& record) {
    Metric minimum = record.metrics[1];
    minimum.name = "min_val_bpb";
    record.metrics.push_back(minimum);
  };
  for (const std::int64_t seed : {1, 2, 3, 4, 5}) {
    const double s = static_cast<double>(seed);
    base.add_training("h100_sxm", seed, .355 + .002 * s, 0, same_minimum);
    candidate.add_training("h100_sxm", seed, .356 + .00205 * s, 0, same_minimum);
  }
  const GateResult result = gate(base.read(), candidate.read());
  EXPECT_EQ(verdict_with(result, "val_bpb").metric, "val_bpb = min_val_bpb");
  EXPECT_EQ(verdict_with(result, "val_bpb").verdict, Verdict::kRegressed) << gate_text(result);
  EXPECT_EQ(*verdict_with(result, "val_bpb").p_worse,
            *verdict_with(result, "val_bpb").p_worse_holm);
}

TEST(Gate, SeedsWithoutEffectAreSuspicious) {
  FakeRun base, candidate;
  for (const std::int64_t seed : {1, 2, 3}) {
    base.add_training("h100_sxm", seed, 1.5 + .001 * static_cast<double>(seed));
    candidate.add_training("h100_sxm", seed, 1.5, 0,
                           [](Record& record) { record.subject["weights"] = "always these"; });
  }
  const GateResult result = gate(base.read(), candidate.read());
  EXPECT_EQ(result.exit_code, 1) << gate_text(result);
  EXPECT_NE(
      text_of(result.verdicts[0].reason).find("all 3 seeds of the candidate trained the very same"),
      std::string::npos)
      << text_of(result.verdicts[0].reason);
}

TEST(Gate, SeedsThatDoNotMatchAreComparedAsGroups) {
  FakeRun base, healthy, worse;
  for (int i = 0; i < 5; ++i) {
    const double spread = .001 * ((i * 3) % 5);
    base.add_training("h100_sxm", i + 1, 1.5 + spread);
    healthy.add_training("h100_sxm", i + 11, 1.5004 + spread);
    worse.add_training("h100_sxm", i + 11, 1.508 + spread);
  }
  const GateResult same = gate(base.read(), healthy.read());
  EXPECT_EQ(same.exit_code, 0) << gate_text(same);
  EXPECT_EQ(verdict_with(same, "val_bpb").verdict, Verdict::kPass) << gate_text(same);
  EXPECT_EQ(verdict_with(gate(base.read(), worse.read()), "val_bpb").verdict, Verdict::kRegressed);
}

TEST(Gate, EqualKeysWithOtherBitsAreAnError) {
  FakeRun base, candidate;
  base.add_prediction("h100_sxm", 1e8, 1e9);
  RunRecords b = base.read();
  candidate.add_prediction("h100_sxm", 1e8, 1e9);
  b.records[0].record.metrics[0].value = 1.1e8;
  const GateResult result = gate(base.read(), b);
  EXPECT_EQ(result.exit_code, 1) << "slower is said too";
  EXPECT_NE(gate_headline(result).find("equal settings, code and data gave other bits"),
            std::string::npos);
}

TEST(Gate, JudgesTheComparisonThatReportsShow) {
  FakeRun base, candidate;
  base.add_evaluation("h100_sxm", 1, "w", kTwoTasks);
  candidate.add_evaluation("h100_sxm", 1, "w",
                           {{"mw/agreement", 200, even}, {"mw/facts", 200, odd}});
  const RunRecords a = base.read(), b = candidate.read();
  EXPECT_EQ(gate_text(gate(compare_runs(a, b))), gate_text(gate(a, b)));
}

TEST(Gate, TextFitsEightyColumns) {
  ASSERT_EQ(setenv("COLUMNS", "80", 1), 0);
  FakeRun base, candidate;
  base.add_evaluation("ascend_910b3", 1, "w", {{"bigbench_language_identification", 200, even}});
  candidate.add_evaluation("ascend_910b3", 1, "w",
                           {{"bigbench_language_identification", 200, odd}});
  base.add_training("ascend_910b3", 1, 1.5);
  candidate.add_training("ascend_910b3", 1, 1.6, .05);
  base.add_prediction("h100_sxm", 100000000, 1e9);
  candidate.add_prediction("h100_sxm", 100000001, 999999999);
  const std::string text = gate_text(gate(base.read(), candidate.read()));
  std::size_t columns = 0;
  for (const char c : text) {
    columns = c == '\n' ? 0 : columns + ((static_cast<unsigned char>(c) & 0xc0) != 0x80 ? 1 : 0);
    EXPECT_LE(columns, 80U) << text;
  }
  unsetenv("COLUMNS");
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

// Logits in bf16 are multiples of 1/16: a tie of that size was "an answer that rounding cannot
// reach". What the records say of their numerics decides.
TEST(Gate, ATieOfOneBf16BitIsRoundingWhereRecordsSayBf16) {
  const auto gated = [](const std::string& output, float move) {
    const auto with_numerics = [&](Record& record) {
      record.numerics = {{"matmul_output", output, "documented", "a test"}};
    };
    const auto margin = [](int i) { return static_cast<float>(i % 24 + 1) / 16; };
    FakeRun base("smoke"), candidate("smoke");
    base.add_evaluation("ascend_910b3", 1, "w",
                        {{"mw/facts", 200, always,
                          [&](int i) {
                            return std::vector<float>{-4, -4 + margin(i)};
                          }}},
                        with_numerics);
    // Item 0 is lost by one bit or more; others move by as much, both ways, without another answer.
    candidate.add_evaluation(
        "ascend_910b3", 1, "w",
        {{"mw/facts", 200, [](int i) { return i != 0; },
          [&](int i) {
            const float down = i == 0 || i % 24 == 9 ? move : i % 24 == 15 ? -move : 0;
            return std::vector<float>{-4, -4 + margin(i) - down};
          }}},
        with_numerics);
    for (const TaskVerdict& v : gate(base.read(), candidate.read()).verdicts)
      if (v.test == "scoring") return v.verdict;
    return Verdict::kError;
  };
  EXPECT_EQ(gated("bf16", 1.0F / 16), Verdict::kPass);
  EXPECT_EQ(gated("fp32", 1.0F / 16), Verdict::kSuspicious);
  EXPECT_EQ(gated("bf16", 4.0F / 16), Verdict::kSuspicious) << "four bits";
}

// Five seeds that happen to be worse by chance: one change of code in a hundred may be red by it,
// unless the first steps say that more than rounding changed.
TEST(Gate, WhereFirstStepsAgreeOnlyLessChanceIsRed) {
  const auto gated = [](double shift, double shift_of_first) {
    const std::vector<double> worse = {.0010, .0020, .0008, .0030, .0012};  // p .008, one-sided
    FakeRun base("smoke"), candidate("smoke");
    for (int seed = 1; seed <= 5; ++seed) {
      const double value = 1.5 + .002 * seed;
      base.add_training("ascend_910b3", seed, value);
      candidate.add_training("ascend_910b3", seed,
                             value + worse[static_cast<std::size_t>(seed - 1)],
                             seed == 1 ? shift_of_first : shift);
    }
    for (const TaskVerdict& v : gate(base.read(), candidate.read()).verdicts)
      if (v.test == "seeds" && v.metric.find("val_bpb") != std::string::npos) return v.verdict;
    return Verdict::kError;
  };
  EXPECT_EQ(gated(1e-6, 1e-6), Verdict::kInconclusive);
  EXPECT_EQ(gated(1e-2, 1e-2), Verdict::kRegressed);
  EXPECT_EQ(gated(1e-2, 1e-6), Verdict::kRegressed) << "one of five agrees";
}

}  // namespace
}  // namespace nb
