#include "results/compare.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "harness/base/fs.hpp"
#include "results/gate.hpp"
#include "results/items.hpp"
#include "tests/results/fake_run.hpp"

namespace nb {
namespace {

using test::even;
using test::FakeRun;

bool always(int) { return true; }

const MetricDifference& metric(const RecordPair& pair, const std::string& name) {
  const auto at = std::find_if(pair.metrics.begin(), pair.metrics.end(),
                               [&](const auto& row) { return row.name == name; });
  EXPECT_NE(at, pair.metrics.end()) << name;
  return *at;
}

TEST(Compare, ARunWithItselfIsBitIdentical) {
  FakeRun run;
  run.add_training("ascend_910b3", 1, 1.5);
  run.add_evaluation("ascend_910b3", 1, "w", {{"mw/facts", 40, even}});
  const RunRecords records = run.read();
  const Comparison c = compare_runs(records, records);
  ASSERT_EQ(c.pairs.size(), 2U);
  for (const RecordPair& pair : c.pairs) EXPECT_TRUE(pair.bit_identical);
  EXPECT_TRUE(c.confounders.empty());
  EXPECT_TRUE(c.only_device_differs());
  EXPECT_TRUE(c.unpaired.empty());
}

TEST(Compare, PairsAnswersItemByItem) {
  FakeRun base, candidate;
  base.add_evaluation("ascend_910b3", 1, "w", {{"mw/facts", 100, even}});
  candidate.add_evaluation("ascend_910b3", 1, "w",
                           {{"mw/facts", 100, [](int i) { return i % 2 == 0 && i >= 12; }}});
  const RunRecords a = base.read(), b = candidate.read();
  const Comparison c = compare_runs(a, b);
  ASSERT_EQ(c.pairs.size(), 1U);
  EXPECT_TRUE(c.pairs[0].fixed_weights);
  const MetricDifference& row = metric(c.pairs[0], "mw/facts/accuracy");
  ASSERT_TRUE(row.counts) << row.note;
  EXPECT_EQ(row.counts->both, 44);
  EXPECT_EQ(row.counts->only_a, 6);
  EXPECT_EQ(row.counts->only_b, 0);
  EXPECT_EQ(row.counts->neither, 50);
  EXPECT_NEAR(*row.difference, -0.06, 1e-15);
  EXPECT_EQ(row.interval95->low, newcombe_paired(*row.counts).low);
  EXPECT_NEAR(*row.p_two_sided, 0.015625, 1e-15);  // golden value of 6, 0
}

TEST(Compare, ConfoundersAreListedOnceWithWhatTheyTouch) {
  FakeRun base, candidate;
  const auto faster = [](Record& record) {
    (*record.settings)["train"]["lr"] = 0.04;
    (*record.settings)["train"]["warmup"] = 10;
    record.subject["code"] = "other";
  };
  for (const std::int64_t seed : {1, 2}) {
    base.add_evaluation("ascend_910b3", seed, "w", {{"mw/facts", 40, even}});
    candidate.add_evaluation("ascend_910b3", seed, "w", {{"mw/facts", 40, even}}, faster);
  }
  const RunRecords a = base.read(), b = candidate.read();
  const Comparison c = compare_runs(a, b);
  ASSERT_EQ(c.confounders.size(), 3U);
  EXPECT_EQ(c.confounders[0].field, "/settings/train/lr");
  EXPECT_EQ(c.confounders[0].a, "0.02");
  EXPECT_EQ(c.confounders[0].b, "0.04");
  EXPECT_EQ(c.confounders[0].where.size(), 2U);
  EXPECT_EQ(c.confounders[1].a, "(absent)");
  EXPECT_EQ(c.confounders[2].category, "code");
  EXPECT_FALSE(c.only_device_differs());
  EXPECT_NE(comparison_text(c).find("CONFOUNDED"), std::string::npos);
}

TEST(Compare, SettingsWithoutEffectAreNoConfounders) {
  FakeRun base, candidate;
  base.add_evaluation("ascend_910b3", 1, "w", {{"mw/facts", 40, even}});
  candidate.add_evaluation("ascend_910b3", 1, "w", {{"mw/facts", 40, even}}, [](Record& record) {
    (*record.settings)["evaluation"]["of_baseline"] = true;
    (*record.settings)["evaluation"]["batch_size"] = 8;
    (*record.settings)["train"]["checkpoint_every"] = 7;
  });
  const RunRecords a = base.read(), b = candidate.read();
  EXPECT_TRUE(compare_runs(a, b).confounders.empty());
  EXPECT_TRUE(compare_runs(a, b).likely_cause().empty());
}

TEST(Compare, DevicesOfOneRunPairAndTheDeviceNameIsNoConfounder) {
  FakeRun run;
  for (const char* device : {"ascend_910b3", "h100_sxm"}) {
    run.add_training(device, 1, device[0] == 'a' ? 1.5 : 1.4);
    run.add_evaluation(device, 1, device, {{"mw/facts", 40, even}});
  }
  const RunRecords records = run.read();
  const auto c = compare_devices(records, "ascend_910b3", "h100_sxm");
  ASSERT_TRUE(c) << c.error().message;
  ASSERT_EQ(c->pairs.size(), 2U);
  EXPECT_TRUE(c->only_device_differs());
  // The numerics card's differences explain different bits; the common entry is no difference.
  ASSERT_GE(c->confounders.size(), 2U);
  EXPECT_EQ(c->confounders[0].category, "numerics");
  EXPECT_EQ(c->confounders[0].field, "summation order");
  // Each side its own weights: an item interval says nothing about another seed.
  EXPECT_FALSE(c->pairs[0].fixed_weights);
  EXPECT_NE(metric(c->pairs[0], "mw/facts/accuracy").method.find("these two checkpoints only"),
            std::string::npos);
  EXPECT_NEAR(*metric(c->pairs[1], "val_bpb").difference, -0.1, 1e-12);

  const auto unknown = compare_devices(records, "ascend_910b3", "tpu");
  ASSERT_FALSE(unknown);
  EXPECT_NE(
      unknown.error().message.find("no record of device \"tpu\"; it has: ascend_910b3, h100_sxm"),
      std::string::npos);
}

TEST(Compare, TwoByTwoPairsTheSameWeightsOnBothDevices) {
  FakeRun run;
  const auto trained_on = [&](const std::string& trained, const std::string& evaluated, char key) {
    run.add_evaluation(evaluated, 1, "weights of " + trained, {{"mw/facts", 40, even}},
                       [&](Record& r) {
                         r.trained_on = trained;
                         r.node_key = std::string(64, key);
                         // Artifacts were written for the original key; write them again where they
                         // belong.
                         std::vector<ItemRecord> items;
                         for (int i = 0; i < 40; ++i)
                           items.push_back({std::to_string(i), even(i), "0", "1", {}, ""});
                         ASSERT_TRUE(write_items(run.folder_of(r) / items_file("mw/facts"), items));
                       });
  };
  trained_on("A", "A", 'a');
  trained_on("A", "B", 'b');
  trained_on("B", "A", 'c');
  trained_on("B", "B", 'd');
  // The folders of the helper's own key have no record and count as unfinished; drop them.
  RunRecords records = run.read();
  records.damaged.clear();
  ASSERT_EQ(records.records.size(), 4U);
  const auto c = compare_devices(records, "A", "B");
  ASSERT_TRUE(c);
  int fixed = 0;
  for (const RecordPair& pair : c->pairs) fixed += pair.fixed_weights ? 1 : 0;
  EXPECT_EQ(c->pairs.size(), 3U);  // A's weights on both, B's on both, each its own
  EXPECT_EQ(fixed, 2);
}

TEST(Compare, ClocksAndNullsNeverGiveADifference) {
  FakeRun base, candidate;
  base.add_prediction("h100_sxm", 1e8, 1e9);
  candidate.add_prediction("h100_sxm", 1.1e8, 1e9);
  const RunRecords a = base.read();
  RunRecords b = candidate.read();
  b.records[0].record.metrics[0].clock = Clock::kDevice;
  b.records[0].record.metrics[2].value.reset();
  b.records[0].record.metrics[2].reason_if_null = "no counter";
  const Comparison c = compare_runs(a, b);
  EXPECT_FALSE(metric(c.pairs[0], "step_time_ns").difference);
  EXPECT_NE(metric(c.pairs[0], "step_time_ns").note.find("sim clock"), std::string::npos);
  EXPECT_EQ(metric(c.pairs[0], "peak_memory_bytes").note, "B: not measured: no counter");
  EXPECT_NEAR(*metric(c.pairs[0], "throughput_tok_s").relative, -1 / 11.0, 1e-12);
}

TEST(Compare, GeneratedTasksAreRefusedBesideRealOnes) {
  FakeRun base, candidate;
  base.add_evaluation("h100_sxm", 1, "w", {{"arc_easy", 40, even}});
  candidate.add_evaluation("h100_sxm", 1, "w", {{"mw/arc_easy", 40, even}});
  const RunRecords a = base.read(), b = candidate.read();
  const Comparison c = compare_runs(a, b);
  ASSERT_EQ(c.unpaired.size(), 1U);
  EXPECT_NE(c.unpaired[0].find("a generated task is not the real one"), std::string::npos);
  EXPECT_FALSE(metric(c.pairs[0], "arc_easy/accuracy").difference);
}

TEST(Compare, OtherHashesAreNamedAndGiveNoDifference) {
  FakeRun base, candidate;
  base.add_evaluation("h100_sxm", 1, "w", {{"mw/a", 40, even}, {"mw/b", 40, even}});
  candidate.add_evaluation("h100_sxm", 1, "w", {{"mw/a", 40, even}, {"mw/b", 40, always}},
                           [](Record& r) { r.comparability["mw/a/prompts"] = "p2"; });
  const RunRecords a = base.read(), b = candidate.read();
  const Comparison c = compare_runs(a, b);
  EXPECT_EQ(metric(c.pairs[0], "mw/a/accuracy").note,
            "INCOMPARABLE: mw/a/prompts differs: p1 and p2");
  EXPECT_FALSE(metric(c.pairs[0], "mw/a/accuracy").difference);
  EXPECT_TRUE(metric(c.pairs[0], "mw/b/accuracy").counts) << "the other task stays comparable";
}

TEST(Compare, PartsOfATaskAreComparedWhereTheTaskIs) {
  const auto with_part = [](double value, const std::string& prompts) {
    return [=](Record& r) {
      r.metrics.push_back(test::metric_of("mw/a/anatomy/accuracy", value, "1", Direction::kHigher,
                                          Clock::kNone, 10));
      r.comparability["mw/a/prompts"] = prompts;
    };
  };
  FakeRun base, same, other;
  base.add_evaluation("h100_sxm", 1, "w", {{"mw/a", 40, even}}, with_part(0.5, "p1"));
  same.add_evaluation("h100_sxm", 1, "w", {{"mw/a", 40, always}}, with_part(0.7, "p1"));
  other.add_evaluation("h100_sxm", 1, "w", {{"mw/a", 40, even}}, with_part(0.7, "p2"));
  const RunRecords a = base.read(), b = same.read(), c = other.read();
  EXPECT_NEAR(*metric(compare_runs(a, b).pairs[0], "mw/a/anatomy/accuracy").difference, 0.2, 1e-12);
  EXPECT_EQ(metric(compare_runs(a, c).pairs[0], "mw/a/anatomy/accuracy").note,
            "INCOMPARABLE: mw/a/prompts differs: p1 and p2");
  // The gate judges the task, not its parts again.
  const GateResult gated = gate(a, b);
  for (const TaskVerdict& verdict : gated.verdicts)
    EXPECT_EQ(verdict.metric.find("anatomy"), std::string::npos) << verdict.metric;
}

// Two sets of items of one task were "damaged", and two forms of one file exited 0.
TEST(Compare, WhereNothingCanBeComparedThatIsTheFirstLine) {
  FakeRun base, candidate, some;
  base.add_evaluation("h100_sxm", 1, "w", {{"mw/a", 40, even}});
  candidate.add_evaluation("h100_sxm", 1, "w", {{"mw/a", 20, even}},
                           [](Record& r) { r.comparability["mw/a/items"] = "other"; });
  some.add_evaluation("h100_sxm", 1, "w", {{"mw/a", 20, even}, {"mw/b", 20, even}},
                      [](Record& r) { r.comparability["mw/a/items"] = "other"; });
  const RunRecords a = base.read(), b = candidate.read();
  const Comparison c = compare_runs(a, b);
  EXPECT_TRUE(c.damaged.empty());
  EXPECT_TRUE(comparison_text(c).starts_with("! nothing of what was paired can be compared: eval"))
      << comparison_text(c);
  EXPECT_NE(c.why_incomparable().find("mw/a/items differs"), std::string::npos);
  const RunRecords more = some.read();
  EXPECT_EQ(compare_runs(b, more).why_incomparable(), "") << "mw/a is the same";
}

TEST(Compare, SeedsGetAnInterval) {
  FakeRun base, candidate;
  for (const std::int64_t seed : {1, 2, 3}) {
    base.add_training("h100_sxm", seed, 1.50 + 0.01 * static_cast<double>(seed));
    candidate.add_training("h100_sxm", seed, 1.40 + 0.01 * static_cast<double>(seed));
  }
  const RunRecords a = base.read(), b = candidate.read();
  const Comparison c = compare_runs(a, b);
  const auto at = std::find_if(c.seeds.begin(), c.seeds.end(),
                               [](const auto& s) { return s.metrics[0] == "val_bpb"; });
  ASSERT_NE(at, c.seeds.end());
  EXPECT_EQ(at->a.size(), 3U);
  EXPECT_EQ(at->method, "paired seeds");
  EXPECT_NEAR(at->test->difference, -0.1, 1e-12);
  EXPECT_LT(at->test->interval95.high, 0);
}

TEST(Compare, MissingAndDamagedSidesAreSaid) {
  FakeRun base, candidate;
  base.add_training("h100_sxm", 1, 1.5);
  const Record eval = base.add_evaluation("h100_sxm", 1, "w", {{"mw/facts", 40, even}});
  candidate.add_evaluation("h100_sxm", 1, "w", {{"mw/facts", 40, always}});
  ASSERT_TRUE(append_file(base.folder_of(eval) / "items/mw_facts.jsonl", "{}\n"));
  const RunRecords a = base.read(), b = candidate.read();
  const Comparison c = compare_runs(a, b);
  ASSERT_EQ(c.unpaired.size(), 1U);
  EXPECT_EQ(c.unpaired[0], "only in A: train base on h100_sxm, seed 1");
  ASSERT_EQ(c.damaged.size(), 1U);
  EXPECT_NE(c.damaged[0].find("mw_facts.jsonl: damaged"), std::string::npos);
  EXPECT_FALSE(metric(c.pairs[0], "mw/facts/accuracy").counts);
  const auto json = dump_json(comparison_json(c));
  EXPECT_TRUE(json) << "the JSON form holds no NaN";
}

TEST(Compare, ADirectionNeedsAnIntervalWithoutZero) {
  FakeRun base, candidate;
  base.add_evaluation("h100_sxm", 1, "w", {{"mw/cloze", 180, [](int i) { return i > 3; }}});
  candidate.add_evaluation("h100_sxm", 1, "w", {{"mw/cloze", 180, [](int i) { return i > 4; }}});
  const RunRecords a = base.read(), b = candidate.read();
  const Comparison c = compare_runs(a, b);
  const MetricDifference& row = metric(c.pairs[0], "mw/cloze/accuracy");
  EXPECT_EQ(row.counts->only_a, 1);
  EXPECT_EQ(row.shown, Shown::kNotShown) << "1 lost, 0 won: p is .5";
  EXPECT_DOUBLE_EQ(*row.visible, 6.0 / 180) << "6–0 is the first table with p < .05";
  const std::string text = comparison_text(c);
  EXPECT_EQ(text.find("B worse"), std::string::npos) << text;
  EXPECT_NE(text.find("no difference shown (could see ≥ 0.033): 1 lost, 0 won of 180; p 0.5000"),
            std::string::npos)
      << text;
}

TEST(Compare, ManyLostAnswersAreADirection) {
  FakeRun base, candidate;
  base.add_evaluation("h100_sxm", 1, "w", {{"mw/cloze", 180, always}});
  candidate.add_evaluation("h100_sxm", 1, "w", {{"mw/cloze", 180, even}});
  const RunRecords a = base.read(), b = candidate.read();
  EXPECT_EQ(metric(compare_runs(a, b).pairs[0], "mw/cloze/accuracy").shown, Shown::kWorse);
  EXPECT_EQ(metric(compare_runs(b, a).pairs[0], "mw/cloze/accuracy").shown, Shown::kBetter);
}

TEST(Compare, OneSeedOfTrainedModelsHasNoDirection) {
  FakeRun base, candidate;
  base.add_training("h100_sxm", 1, 1.5);
  candidate.add_training("h100_sxm", 1, 1.4);
  base.add_evaluation("h100_sxm", 1, "w", {{"mw/cloze", 180, always}});
  candidate.add_evaluation("h100_sxm", 1, "other weights", {{"mw/cloze", 180, even}});
  const RunRecords a = base.read(), b = candidate.read();
  const Comparison c = compare_runs(a, b);
  EXPECT_EQ(metric(c.pairs[1], "val_bpb").shown, Shown::kNotShown);
  EXPECT_EQ(metric(c.pairs[0], "mw/cloze/accuracy").shown, Shown::kNotShown);
  const std::string text = comparison_text(c);
  EXPECT_EQ(text.find("B better"), std::string::npos) << text;
  EXPECT_EQ(text.find("B worse"), std::string::npos) << text;
  EXPECT_NE(text.find("one training a side"), std::string::npos) << text;
}

TEST(Compare, SimulatedCountsHaveADirectionRealClocksHaveNone) {
  FakeRun base, candidate;
  base.add_prediction("h100_sxm", 1e8, 1e9);
  candidate.add_prediction("h100_sxm", 1.1e8, 1e9);
  base.add_training("h100_sxm", 1, 1.5);
  candidate.add_training("h100_sxm", 1, 1.5, 0,
                         [](Record& record) { record.host_metrics[0].value = 9e9; });
  const RunRecords a = base.read(), b = candidate.read();
  const Comparison c = compare_runs(a, b);
  EXPECT_EQ(metric(c.pairs[0], "step_time_ns").shown, Shown::kWorse);
  EXPECT_EQ(metric(c.pairs[0], "peak_memory_bytes").shown, Shown::kEqual);
  EXPECT_EQ(metric(c.pairs[1], "wall_time_ns").shown, Shown::kNothing);
}

TEST(Compare, SeedsArePairedBySeed) {
  FakeRun base, candidate;
  const double spread[] = {0, .004, -.003, .001, .002};
  for (std::size_t i = 0; i < 5; ++i) {
    const auto seed = static_cast<std::int64_t>(i + 1);
    const auto same_minimum = [](Record& record) {
      Metric minimum = record.metrics[1];
      minimum.name = "min_val_bpb";
      record.metrics.push_back(minimum);
    };
    base.add_training("h100_sxm", seed, .355 + spread[i], 0, same_minimum);
    candidate.add_training("h100_sxm", seed, .356 + spread[i] + .0001 * static_cast<double>(i % 2),
                           0, same_minimum);
  }
  const RunRecords a = base.read(), b = candidate.read();
  const Comparison c = compare_runs(a, b);
  const auto of = [&](const std::string& name) {
    return std::find_if(c.seeds.begin(), c.seeds.end(),
                        [&](const auto& s) { return s.metrics[0] == name; });
  };
  const auto group = of("val_bpb");
  ASSERT_NE(group, c.seeds.end());
  EXPECT_EQ(group->metrics, (std::vector<std::string>{"val_bpb", "min_val_bpb"}))
      << "equal on both sides in every seed: one difference, not two";
  EXPECT_EQ(of("min_val_bpb"), c.seeds.end());
  EXPECT_EQ(group->seeds, (std::vector<std::int64_t>{1, 2, 3, 4, 5}));
  EXPECT_EQ(group->shown, Shown::kWorse) << "every seed is worse, though the seeds spread more";
  EXPECT_EQ(of("train_loss")->shown, Shown::kEqual);
  const std::string text = comparison_text(c);
  EXPECT_NE(text.find("B worse; paired seeds, 5 pairs; equal to min_val_bpb"), std::string::npos)
      << text;
}

TEST(Compare, SeedsThatDoNotMatchAreIndependentGroups) {
  FakeRun base, candidate;
  for (const std::int64_t seed : {1, 2, 3})
    base.add_training("h100_sxm", seed, 1.5 + .01 * static_cast<double>(seed));
  for (const std::int64_t seed : {4, 5})
    candidate.add_training("h100_sxm", seed, 1.5 + .01 * static_cast<double>(seed));
  const RunRecords a = base.read(), b = candidate.read();
  const Comparison c = compare_runs(a, b);
  EXPECT_TRUE(c.pairs.empty());
  EXPECT_TRUE(c.unpaired.empty());
  const auto group = std::find_if(c.seeds.begin(), c.seeds.end(),
                                  [](const auto& s) { return s.metrics[0] == "val_bpb"; });
  ASSERT_NE(group, c.seeds.end());
  EXPECT_EQ(group->method, "seeds (Welch)");
  EXPECT_EQ(group->a.size(), 3U);
  EXPECT_EQ(group->b.size(), 2U);
}

TEST(Compare, OneEvaluationEachPairsAcrossDevicesAndNames) {
  FakeRun left, right;
  left.add_evaluation("h100_sxm", 1, "w", {{"mw/facts", 40, even}});
  right.add_evaluation("ascend_910b3", 1, "w", {{"mw/facts", 40, always}});
  RunRecords a = left.read(), b = right.read();
  a.records[0].record.name = "eval.h100";
  b.records[0].record.name = "eval.ascend";
  EXPECT_TRUE(compare_runs(a, b).pairs.empty()) << "the gate knows one device only";
  const Comparison c = compare_runs(a, b, PairAcross::kDevices);
  ASSERT_EQ(c.pairs.size(), 1U);
  EXPECT_NE(c.pairs[0].note.find("paired as the only evaluations of these tasks"),
            std::string::npos);
  EXPECT_TRUE(c.findings.empty()) << "another device: other numbers are no finding";
  EXPECT_NE(comparison_text(c).find("paired as the only evaluations"), std::string::npos);
  EXPECT_EQ(comparison_json(c)["pairs"][0]["paired_by"], c.pairs[0].note);
}

// An NPU model trained with another learning rate is not the NPU's fault.
TEST(Compare, EvaluationsCarryTheRecipeOfTheirCheckpoint) {
  FakeRun run;
  run.add_evaluation("h100_sxm", 1, "w", {{"mw/facts", 40, even}});
  run.add_evaluation("ascend_910b3", 1, "v", {{"mw/facts", 40, always}}, [](Record& record) {
    (*record.checkpoint)["settings"]["matrix_lr"] = 1e-5;
    (*record.checkpoint)["data"] = "d2";
  });
  const RunRecords records = run.read();
  const auto c = compare_devices(records, "h100_sxm", "ascend_910b3");
  ASSERT_TRUE(c);
  EXPECT_FALSE(c->only_device_differs());
  ASSERT_GE(c->confounders.size(), 2U);
  EXPECT_EQ(c->confounders[0].field, "/checkpoint/settings/matrix_lr");
  EXPECT_EQ(c->confounders[0].category, "settings");
  EXPECT_EQ(c->confounders[1].field, "/checkpoint/data");
  EXPECT_EQ(c->confounders[1].category, "data");
  EXPECT_NE(comparison_text(*c).find("CONFOUNDED"), std::string::npos);
  EXPECT_EQ(comparison_json(*c)["only_device_differs"], false);
}

TEST(Compare, WeightsThatSayNothingOfTheirTrainingAreUnknownNotEqual) {
  FakeRun run;
  run.add_evaluation("h100_sxm", 1, "w", {{"mw/facts", 40, even}});
  run.add_evaluation("ascend_910b3", 1, "v", {{"mw/facts", 40, always}},
                     [](Record& record) { record.checkpoint = Json(); });
  const RunRecords records = run.read();
  const auto c = compare_devices(records, "h100_sxm", "ascend_910b3");
  ASSERT_TRUE(c);
  EXPECT_FALSE(c->only_device_differs());
  const std::string text = comparison_text(*c);
  EXPECT_NE(text.find("training settings unknown: eval base.core on ascend_910b3"),
            std::string::npos)
      << text;
  EXPECT_EQ(text.find("are equal"), std::string::npos) << text;
  EXPECT_FALSE(comparison_json(*c)["unknown"].empty());
}

TEST(Compare, WithoutPairsNothingIsCalledEqual) {
  FakeRun left, right;
  left.add_prediction("h100_sxm", 1e8, 1e9);
  right.add_training("h100_sxm", 1, 1.5);
  const RunRecords a = left.read(), b = right.read();
  const Comparison c = compare_runs(a, b);
  EXPECT_FALSE(c.only_device_differs());
  EXPECT_EQ(comparison_text(c).find("are equal"), std::string::npos) << comparison_text(c);
  EXPECT_NE(comparison_text(c).find("no records pair"), std::string::npos);
}

TEST(Compare, SkippedRecordsAreListedInTextAndJson) {
  FakeRun run;
  run.add_training("h100_sxm", 1, 1.5);
  RunRecords a = run.read();
  a.notes.push_back("eval-1: skipped: superseded by eval-2");
  const Comparison c = compare_runs(a, a);
  ASSERT_EQ(c.skipped.size(), 1U);
  EXPECT_NE(comparison_text(c).find("\nnotes\n  eval-1: skipped: superseded by eval-2\n"),
            std::string::npos);
  EXPECT_EQ(comparison_json(c)["skipped"][0], "eval-1: skipped: superseded by eval-2");
}

TEST(Compare, TheSameWeightsScoredOtherwiseIsTheFirstLine) {
  FakeRun base, candidate;
  base.add_evaluation("h100_sxm", 1, "w", {{"mw/facts", 100, even}});
  candidate.add_evaluation("h100_sxm", 1, "w",
                           {{"mw/facts", 100, [](int i) { return i % 2 == 0 || i == 7; }}});
  const RunRecords a = base.read(), b = candidate.read();
  const std::string text = comparison_text(compare_runs(a, b));
  EXPECT_TRUE(text.starts_with("! the same weights were scored otherwise on the same device"))
      << text;
}

TEST(Compare, AnotherValueOfEqualWeightsIsAnotherMetric) {
  FakeRun base, candidate;
  base.add_training("h100_sxm", 1, 1.5);
  candidate.add_training("h100_sxm", 1, 1.5, 0, [](Record& record) {
    record.metrics[1].value = 1.49;  // val_bpb on half of the tokens
  });
  const RunRecords a = base.read(), b = candidate.read();
  const Comparison c = compare_runs(a, b);
  ASSERT_EQ(c.pairs[0].changed_metrics.size(), 1U);
  EXPECT_NE(comparison_text(c).find("the metric itself changed"), std::string::npos);
}

TEST(Compare, ATrainingProcedureThatChangedShowsInTheFirstSteps) {
  FakeRun base, rounding, changed;
  base.add_training("h100_sxm", 1, 1.5);
  rounding.add_training("h100_sxm", 1, 1.501, 1e-5);
  changed.add_training("h100_sxm", 1, 1.501, .05,
                       [](Record& record) { (*record.settings)["train"]["lr"] = .01; });
  const RunRecords a = base.read(), b = rounding.read(), c = changed.read();
  EXPECT_TRUE(compare_runs(a, b).pairs[0].curves_agree);
  const Comparison departed = compare_runs(a, c);
  ASSERT_TRUE(departed.pairs[0].departure);
  EXPECT_EQ(departed.pairs[0].departure->step, 1);
  EXPECT_FALSE(departed.pairs[0].departure->before_learning);
  const std::string text = comparison_text(departed);
  EXPECT_TRUE(text.starts_with("! the training procedure changed: train base on h100_sxm, seed 1"))
      << text;
  EXPECT_NE(text.find("likely cause: changed settings: /settings/train/lr 0.02 → 0.01"),
            std::string::npos)
      << text;
}

std::size_t widest_line(const std::string& text) {
  std::size_t widest = 0, columns = 0;
  for (const char c : text) {
    if (c == '\n')
      columns = 0;
    else if ((static_cast<unsigned char>(c) & 0xc0) != 0x80)
      widest = std::max(widest, ++columns);
  }
  return widest;
}

TEST(Compare, TextFitsEightyColumns) {
  FakeRun base, candidate;
  const std::string task = "bigbench_language_identification_with_a_long_name";
  for (const std::int64_t seed : {1, 2}) {
    base.add_training("ascend_910b3", seed, 1.5);
    candidate.add_training("ascend_910b3", seed, 1.6, .05, [](Record& record) {
      (*record.settings)["train"]["text"] = std::string(200, 'x');
    });
    base.add_evaluation("ascend_910b3", seed, "w", {{task, 180, even}});
    candidate.add_evaluation("ascend_910b3", seed, "w", {{task, 180, always}});
  }
  base.add_prediction("h100_sxm", 1.92e9, 38.6e9);
  candidate.add_prediction("h100_sxm", 509e6, 22.2e9);
  const RunRecords a = base.read(), b = candidate.read();
  const std::string text = comparison_text(compare_runs(a, b));
  EXPECT_LE(widest_line(text), 80U) << text;
}

}  // namespace
}  // namespace nb
