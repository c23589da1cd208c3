#include "results/compare/compare.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "harness/base/fs.hpp"
#include "results/gate/gate.hpp"
#include "results/store/items.hpp"
#include "tests/results/fake_run.hpp"
#include "tests/results/metric_row.hpp"

namespace nb {
namespace {

using test::always;
using test::even;
using test::FakeRun;
using test::metric;

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
  ASSERT_TRUE(row.counts) << text_of(row.note);
  EXPECT_EQ(row.counts->both, 44);
  EXPECT_EQ(row.counts->only_a, 6);
  EXPECT_EQ(row.counts->only_b, 0);
  EXPECT_EQ(row.counts->neither, 50);
  EXPECT_NEAR(*row.difference, -0.06, 1e-15);
  EXPECT_EQ(row.interval95->low, newcombe_paired(*row.counts).low);
  EXPECT_NEAR(*row.p_two_sided, 0.015625, 1e-15);  // golden value of 6, 0
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
  EXPECT_NE(text_of(metric(c.pairs[0], "step_time_ns").note).find("sim clock"), std::string::npos);
  EXPECT_EQ(text_of(metric(c.pairs[0], "peak_memory_bytes").note), "B: not measured: no counter");
  EXPECT_NEAR(*metric(c.pairs[0], "throughput_tok_s").relative, -1 / 11.0, 1e-12);
}

TEST(Compare, GeneratedTasksAreRefusedBesideRealOnes) {
  FakeRun base, candidate;
  base.add_evaluation("h100_sxm", 1, "w", {{"arc_easy", 40, even}});
  candidate.add_evaluation("h100_sxm", 1, "w", {{"mw/arc_easy", 40, even}});
  const RunRecords a = base.read(), b = candidate.read();
  const Comparison c = compare_runs(a, b);
  ASSERT_EQ(c.unpaired.size(), 1U);
  EXPECT_NE(text_of(c.unpaired[0]).find("a generated task is not the real one"), std::string::npos);
  EXPECT_FALSE(metric(c.pairs[0], "arc_easy/accuracy").difference);
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
  EXPECT_EQ(text_of(metric(compare_runs(a, c).pairs[0], "mw/a/anatomy/accuracy").note),
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
  EXPECT_TRUE(comparison_text(c).starts_with("! none of the paired records can be compared: eval"))
      << comparison_text(c);
  EXPECT_NE(text_of(c.why_incomparable()).find("mw/a/items differs"), std::string::npos);
  const RunRecords more = some.read();
  EXPECT_EQ(text_of(compare_runs(b, more).why_incomparable()), "") << "mw/a is the same";
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
  EXPECT_EQ(text_of(c.unpaired[0]), "only in A: train base on h100_sxm, seed 1");
  ASSERT_EQ(c.damaged.size(), 1U);
  EXPECT_NE(c.damaged[0].find("mw_facts.jsonl: damaged"), std::string::npos);
  EXPECT_FALSE(metric(c.pairs[0], "mw/facts/accuracy").counts);
  const auto json = dump_json(comparison_json(c));
  EXPECT_TRUE(json) << "the JSON form holds no NaN";
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
  EXPECT_NE(text_of(c.pairs[0].note).find("paired as the only evaluations of these tasks"),
            std::string::npos);
  EXPECT_TRUE(c.findings.empty()) << "another device: other numbers are no finding";
  EXPECT_NE(comparison_text(c).find("paired as the only evaluations"), std::string::npos);
  EXPECT_EQ(comparison_json(c)["pairs"][0]["paired_by"], text_of(c.pairs[0].note));
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
  a.notes.push_back(verbatim("eval-1: skipped: superseded by eval-2"));
  const Comparison c = compare_runs(a, a);
  ASSERT_EQ(c.skipped.size(), 1U);
  EXPECT_NE(comparison_text(c).find("\nnotes\n  eval-1: skipped: superseded by eval-2\n"),
            std::string::npos);
  EXPECT_EQ(comparison_json(c)["skipped"][0], "eval-1: skipped: superseded by eval-2");
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
      std::string text;
      for (int i = 0; i < 100; ++i) text += "x ";
      (*record.settings)["train"]["text"] = text;
    });
    base.add_evaluation("ascend_910b3", seed, "w", {{task, 180, even}});
    candidate.add_evaluation("ascend_910b3", seed, "w", {{task, 180, always}});
  }
  base.add_prediction("h100_sxm", 1.92e9, 38.6e9);
  candidate.add_prediction("h100_sxm", 509e6, 22.2e9);
  const RunRecords a = base.read(), b = candidate.read();
  ::setenv("COLUMNS", "80", 1);
  const std::string text = comparison_text(compare_runs(a, b));
  ::unsetenv("COLUMNS");
  EXPECT_LE(widest_line(text), 80U) << text;
}

}  // namespace
}  // namespace nb
