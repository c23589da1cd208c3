// A01, A02, A03, A15, A21, A22: each on a table that it is about and on one that is sound.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include "tests/results/audit/audit_case.hpp"

namespace nb::test {
namespace {

Audit audit_of(std::string_view text) { return audited(table_from(text)); }

constexpr std::string_view kHead = "task,accuracy,n\n";
constexpr std::string_view kFive =
    "ARC-Easy,0.3561,2376\nARC-Challenge,0.2875,1172\nMMLU,0.3111,14042\nGSM8K,0.0250,1319\n"
    "HumanEval,0.0671,164\n";

std::string chat(std::string_view composite, std::string_view more = "") {
  return fmt::format("{}{}{}ChatCORE,{},\n", kHead, kFive, more, composite);
}

TEST(A01, TheAggregateOfTheTasksPassesAndAnotherFails) {
  EXPECT_TRUE(findings_of_rule(audit_of(chat("0.0730")), "A01").empty());
  const auto found = findings_of_rule(audit_of(chat("0.0740")), "A01");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].severity, Severity::kFail);
  EXPECT_EQ(found[0].line, 7U);
  EXPECT_EQ(found[0].found.find("0.0740 reported, 0.0730 recomputed from its 5 tasks"), 0U)
      << found[0].found;
}

TEST(A01, TheMeanOfSixTasksIsAnotherAggregateThatPasses) {
  EXPECT_TRUE(
      findings_of_rule(audit_of(chat("0.2258", "SpellingBee,0.9900,256\n")), "A01").empty());
}

TEST(A01, ASixthTaskThatTheSummaryHidesIsNoFail) {
  // nanochat's summary leaves SpellingBee out: (5 · .07300667 + 250/256)/6 = .2236.
  const auto found = findings_of_rule(audit_of(chat("0.2236")), "A01");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].severity, Severity::kInfo);
  EXPECT_NE(found[0].found.find("SpellingBee 250/256"), std::string::npos) << found[0].found;
}

TEST(A01, WithoutAllTasksThereIsNothingToRecompute) {
  const auto found =
      findings_of_rule(audit_of("task,accuracy,n\nMMLU,0.3111,14042\nChatCORE,0.0730,\n"), "A01");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].severity, Severity::kInfo);
  EXPECT_NE(found[0].found.find("missing: ARC-Easy, ARC-Challenge, GSM8K, HumanEval"),
            std::string::npos);
}

TEST(A02, AShareOfTheItemsPassesAndAnotherFails) {
  const auto with = [&](const char* score) {
    return findings_of_rule(audit_of(fmt::format("{}HumanEval,{},164\n", kHead, score)), "A02");
  };
  EXPECT_TRUE(with("0.0244").empty());
  EXPECT_TRUE(with("2.44%").empty());
  const auto found = with("0.0239");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].severity, Severity::kFail);
  EXPECT_EQ(found[0].found, "0.0239 is not reproducible as k/164: 3.920 right answers");
  EXPECT_EQ(found[0].needed, "0.0183 or 0.0244; no other size up to 164 gives it either");
}

TEST(A02, NeverSaysThatSomebodyInvented) {
  for (const Finding& finding : published_audit("seed_result_table").findings)
    for (const char* word : {"fabricat", "invent", "fake", "fraud"})
      EXPECT_EQ(finding.found.find(word), std::string::npos) << finding.found;
}

TEST(A02, ManyItemsHaveNoPower) {
  EXPECT_TRUE(
      findings_of_rule(audit_of(fmt::format("{}MMLU,0.2993,14042\n", kHead)), "A02").empty());
}

TEST(A02, AnEvaluationThatWasCutIsNamedNotFailed) {
  // 16 items per task, as nanochat's CPU run evaluates: .0625 is no share of 230.
  const auto audit = audit_of(
      "## Base model evaluation\ntimestamp: 2025-12-01 14:28:15\n\n- CORE metric: 0.0025\n"
      "- copa: 0.3750\n- winograd: 0.3750\n- agi_eval_lsat_ar: -0.1719\n- openbook_qa: 0.1667\n"
      "- arc_challenge: -0.1667\n- piqa: -0.2500\n");
  const auto found = findings_of_rule(audit, "A02");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].severity, Severity::kInfo);
  EXPECT_NE(found[0].found.find("16 items per task"), std::string::npos) << found[0].found;
  EXPECT_TRUE(findings_of_rule(audit, "A03").empty());  // far below chance only of 1,838 items
}

TEST(A03, FarBelowEveryConstantAnswerFails) {
  const auto with = [&](const char* score) {
    return findings_of_rule(audit_of(fmt::format("{}MMLU,{},14042\n", kHead, score)), "A03");
  };
  EXPECT_TRUE(with("0.2468").empty());  // guessing
  EXPECT_TRUE(with("0.2295").empty());  // always A
  const auto found = with("0.2091");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].severity, Severity::kFail);
  EXPECT_NE(found[0].found.find("11.2 standard errors below guessing (0.25), and 5.7 below"),
            std::string::npos)
      << found[0].found;
}

TEST(A03, AModelThatAlwaysSaysNoPasses) {
  // boolq: .62 of the answers are yes, so a sound model may score .38.
  EXPECT_TRUE(
      findings_of_rule(audit_of(fmt::format("{}boolq,0.4614,3270\n", kHead)), "A03").empty());
}

TEST(A15, ChatCoresOfOtherTasksAreNotCompared) {
  const std::string five =
      "MMLU,.3111,.3111\nARC-Easy,.3561,.3561\nARC-Challenge,.2875,.2875\n"
      "GSM8K,.0250,.0250\nHumanEval,.0671,.0671\n";
  EXPECT_TRUE(
      findings_of_rule(audit_of("task,a,b\n" + five + "ChatCORE,.0730,.0730\n"), "A15").empty());
  const auto found = findings_of_rule(
      audit_of("task,a,b\n" + five + "SpellingBee,,.9900\nChatCORE,.0730,.2258\n"), "A15");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].severity, Severity::kFail);
  EXPECT_EQ(found[0].run, "a, b");
}

TEST(A21, ScoresWithoutItemsAreNamed) {
  EXPECT_TRUE(findings_of_rule(audit_of("task,accuracy,n\nown,0.5,10\n"), "A21").empty());
  const auto found = findings_of_rule(audit_of("task,accuracy\nown,0.5\n"), "A21");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].where, "own");
}

TEST(A22, AnEstimateIsNotComparedWithTheFullCore) {
  const auto estimate = audit_of("task,a,b\nCORE,0.2219,\nCORE estimate,,0.2200\n");
  const auto found = findings_of_rule(estimate, "A22");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].severity, Severity::kFail);
  EXPECT_TRUE(findings_of_rule(audit_of("task,a,b\nCORE,0.2219,0.2200\n"), "A22").empty());
  // A report card has both, of one run.
  EXPECT_TRUE(
      findings_of_rule(audit_of("task,a\nCORE,0.2219\nCORE estimate,0.2300\n"), "A22").empty());
}

TEST(A22, ASummaryThatShowsTheEstimateFails) {
  const std::string card =
      "# nanochat training report\n\n## Base model training\ntimestamp: 2025-11-11 12:19:38\n\n"
      "- CORE metric estimate: 0.2004\n\n## Base model evaluation\ntimestamp: 2025-11-11 "
      "12:23:59\n\n"
      "- CORE metric: 0.1910\n\n## Summary\n\n| Metric | BASE |\n|---|---|\n| CORE | {} |\n";
  const auto with = [&](const char* shown) {
    std::string text = card;
    return findings_of_rule(audit_of(text.replace(text.find("{}"), 2, shown)), "A22");
  };
  EXPECT_TRUE(with("0.1910").empty());
  ASSERT_EQ(with("0.2004").size(), 1U);
}

}  // namespace
}  // namespace nb::test
