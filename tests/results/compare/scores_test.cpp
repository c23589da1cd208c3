// What compare says first: scores judged together, costs as ratios, and how they are printed.

#include "results/compare/scores.hpp"

#include <gtest/gtest.h>

#include <string>

#include "results/compare/headline.hpp"
#include "results/compare/score_table.hpp"
#include "results/messages/sentences.hpp"
#include "tests/results/fake_run.hpp"

namespace nb {
namespace {

using test::always;
using test::even;
using test::FakeRun;

const Score* find_score(const Comparison& c, const std::string& name) {
  for (const Score& score : c.scores)
    if (score.name == name) return &score;
  return nullptr;
}

TEST(Scores, AreJudgedTogetherAndPrintedInPoints) {
  FakeRun a, b;
  a.add_evaluation("h100_sxm", 1, "w",
                   {{"mw/lost", 200, always},
                    {"mw/open", 200, [](int i) { return i > 3; }},
                    {"mw/same", 200, even}});
  b.add_evaluation("h100_sxm", 1, "w",
                   {{"mw/lost", 200, [](int i) { return i >= 20; }},
                    {"mw/open", 200, [](int i) { return i > 4; }},
                    {"mw/same", 200, even}});
  const RunRecords left = a.read(), right = b.read();
  const Comparison c = compare_runs(left, right);
  ASSERT_EQ(c.scores.size(), 3U);
  EXPECT_EQ(find_score(c, "mw/lost/accuracy")->outcome, ScoreOutcome::kWorse);
  EXPECT_EQ(find_score(c, "mw/open/accuracy")->outcome, ScoreOutcome::kNotEstablished);
  EXPECT_EQ(find_score(c, "mw/same/accuracy")->outcome, ScoreOutcome::kEqual);
  EXPECT_EQ(text_of(headline(c)).find("B is worse on mw/lost −10.0 pp ["), 0U)
      << text_of(headline(c));
  EXPECT_NE(text_of(headline(c)).find("no significant difference: mw/open −0.5 pp"),
            std::string::npos)
      << text_of(headline(c));
  EXPECT_NE(comparison_text(c).find("no score of 200 changed"), std::string::npos)
      << "not: not established, 0 lost, 0 won";
  const TextTable rows = score_rows(c);
  EXPECT_EQ(rows.rows.front()[0], "mw/lost") << "the surest first";
  EXPECT_EQ(rows.rows.front()[1], "100.0 %");
  EXPECT_EQ(rows.rows.front()[5], "worse");
  EXPECT_EQ(rows.rows.back()[5], "equal");
  EXPECT_NE(score_lines(c).find("mw/open: 98.0 % → 97.5 %, −0.5 pp ["), std::string::npos)
      << score_lines(c);
}

// Twenty comparisons of which one has p .03: after Holm nothing is established.
TEST(Scores, OneOfManyIsNotWorseByChance) {
  FakeRun a, b;
  std::vector<FakeRun::Task> left, right;
  for (int t = 0; t < 20; ++t) {
    left.push_back({"mw/t" + std::to_string(t), 100, always});
    const int lost = t == 0 ? 6 : 1;
    right.push_back({"mw/t" + std::to_string(t), 100, [lost](int i) { return i >= lost; }});
  }
  a.add_evaluation("h100_sxm", 1, "w", left);
  b.add_evaluation("h100_sxm", 1, "w", right);
  const RunRecords x = a.read(), y = b.read();
  const Comparison c = compare_runs(x, y);
  for (const Score& score : c.scores)
    EXPECT_EQ(score.outcome, score.name == "mw/t0/accuracy" ? ScoreOutcome::kInDoubt
                                                            : ScoreOutcome::kNotEstablished);
  EXPECT_EQ(text_of(headline(c)).find("In doubt among 20 scores: mw/t0 −6.0 pp ["), 0U)
      << text_of(headline(c));
  EXPECT_NE(score_table(c).find("and 8 more, below"), std::string::npos) << score_table(c);
}

TEST(Scores, OneTrainingASideEstablishesNothing) {
  FakeRun a, b;
  a.add_training("h100_sxm", 1, 1.50);
  b.add_training("h100_sxm", 1, 1.40);
  a.add_evaluation("h100_sxm", 1, "w", {{"mw/cloze", 180, always}});
  b.add_evaluation("h100_sxm", 1, "other weights", {{"mw/cloze", 180, even}});
  const RunRecords x = a.read(), y = b.read();
  const Comparison c = compare_runs(x, y);
  ASSERT_EQ(c.scores.size(), 2U);
  for (const Score& score : c.scores) EXPECT_EQ(score.outcome, ScoreOutcome::kOneTraining);
  EXPECT_EQ(text_of(headline(c)).find("One training a side, so chance is not measured"), 0U)
      << text_of(headline(c));
  EXPECT_EQ(comparison_text(c).find("One training a side"), 0U) << "the first line";
}

// The first sentence counted the pairs of equal weights alone.
TEST(Scores, TrainingsBesideEqualWeightsAreCountedToo) {
  FakeRun a, b;
  for (FakeRun* run : {&a, &b}) run->add_evaluation("h100_sxm", 1, "w", {{"mw/same", 200, even}});
  a.add_training("h100_sxm", 2, 1.50);
  b.add_training("h100_sxm", 2, 1.40);
  a.add_evaluation("h100_sxm", 2, "w", {{"mw/cloze", 180, always}});
  b.add_evaluation("h100_sxm", 2, "other weights", {{"mw/cloze", 180, even}});
  const RunRecords x = a.read(), y = b.read();
  const Comparison c = compare_runs(x, y);
  ASSERT_EQ(c.scores.size(), 3U);
  EXPECT_EQ(find_score(c, "mw/same/accuracy")->outcome, ScoreOutcome::kEqual);
  EXPECT_EQ(find_score(c, "mw/cloze/accuracy")->outcome, ScoreOutcome::kOneTraining);
  EXPECT_EQ(find_score(c, "val_bpb")->outcome, ScoreOutcome::kOneTraining);
  const std::string said = text_of(headline(c));
  EXPECT_EQ(said.find("One training a side, so chance is not measured"), 0U) << said;
  EXPECT_NE(said.find("1 score equal answer by answer"), std::string::npos) << said;
}

// It said "a drop of 0.02 would have shown" of a loss, whose drop is no harm.
TEST(Scores, ALossThatWouldHaveShownIsAChange) {
  FakeRun a, b;
  for (const std::int64_t seed : {1, 2, 3}) {
    const double wave = seed == 2 ? 0.01 : -0.01;
    a.add_training("h100_sxm", seed, 1.50);
    b.add_training("h100_sxm", seed, 1.50 + wave);
  }
  const RunRecords x = a.read(), y = b.read();
  const std::string text = text_of(headline(compare_runs(x, y)));
  EXPECT_NE(text.find("a change of "), std::string::npos) << text;
  EXPECT_EQ(text.find("a drop of "), std::string::npos) << text;
}

TEST(Scores, CostsAreRatiosOneRowForAllSeeds) {
  FakeRun run;
  for (const std::int64_t seed : {1, 2, 3})
    for (const std::string device : {"h100_sxm", "ascend_910b3"})
      run.add_training(device, seed, 1.5);
  run.add_prediction("h100_sxm", 1e9, 20e9);
  run.add_prediction("ascend_910b3", 4.7e9, 30e9);
  const RunRecords records = run.read();
  const auto c = compare_devices(records, "h100_sxm", "ascend_910b3");
  ASSERT_TRUE(c);
  int steps = 0;
  for (const Cost& cost : c->costs)
    if (cost.metric == "step_time_ns" && cost.place.starts_with("predict")) {
      ++steps;
      EXPECT_DOUBLE_EQ(cost.ratio(), 4.7);
    }
  EXPECT_EQ(steps, 1);
  EXPECT_NE(cost_table(*c).find("4.7 ×"), std::string::npos) << cost_table(*c);
}

}  // namespace
}  // namespace nb
