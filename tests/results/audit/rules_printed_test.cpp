// A24 to A26: each on a table that it is about and on one that is sound. A24 of report cards:
// read_card_test.cpp.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include "tests/results/audit/audit_case.hpp"

namespace nb::test {
namespace {

std::vector<Finding> printed_findings(std::string_view rule, const std::string& text) {
  return findings_of_rule(audited(table_from(text)), rule);
}

TEST(A24, ASectionThatStandsAgainIsAnotherEvaluation) {
  const std::string section =
      "## Base model evaluation\ntimestamp: 2025-11-11 12:23:59\n\n- CORE metric: {}\n\n";
  const auto found = printed_findings("A24", fmt::format(fmt::runtime(section), "0.2219") +
                                                 fmt::format(fmt::runtime(section), "0.1910"));
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].severity, Severity::kWarn);
  EXPECT_EQ(found[0].found,
            "stands twice: 0.2219 in line 4, 0.1910 in line 9; the first is judged");
  EXPECT_TRUE(printed_findings("A24", fmt::format(fmt::runtime(section), "0.2219")).empty());
}

TEST(A24, TheRestOfTheCardIsJudgedAllTheSame) {
  // CORE stands twice; humaneval's .0239 of 164 is still found.
  const auto audit = audited(table_from(
      "# nanochat training report\n\n## Base model evaluation\ntimestamp: 2025-11-11 12:23:59\n\n"
      "- CORE metric: 0.2219\n- CORE metric: 0.2210\n\n"
      "## Chat evaluation sft\ntimestamp: 2025-11-11 12:50:00\n\n- HumanEval: 0.0239\n"));
  EXPECT_EQ(verdicts_of(audit), "FAIL A02, FAIL A24");
}

TEST(A25, TheErrorIsThatOfTheItems) {
  const auto of = [](const char* error, const char* n = "14042") {
    return printed_findings("A25",
                            fmt::format("task,accuracy,n,stderr\nown,0.3001,{},{}\n", n, error));
  };
  EXPECT_TRUE(of("0.0039").empty());
  EXPECT_TRUE(of("0.008").empty());  // of passages with several questions
  EXPECT_TRUE(of("0.002").empty());  // of fractional scores
  EXPECT_TRUE(of("0.13", "14").empty());
  ASSERT_EQ(of("0.13").size(), 1U);
  EXPECT_EQ(of("0.13")[0].severity, Severity::kFail);
  EXPECT_EQ(of("0.13")[0].found,
            "± 0.13 beside 0.3001 is 33.6 times the standard error of 14,042 items, 0.0039");
  EXPECT_EQ(of("0.13")[0].needed.find("0.0039, or the number of items that gives it (about 13)"),
            0U)
      << of("0.13")[0].needed;
  ASSERT_EQ(of("0.02").size(), 1U);
  EXPECT_EQ(of("0.02")[0].severity, Severity::kWarn);
  EXPECT_EQ(of("0.0001").size(), 1U);
}

TEST(A25, AnIntervalIsAnErrorToo) {
  const auto of = [](const char* low, const char* high) {
    return printed_findings(
        "A25", fmt::format("task,accuracy,n,low,high\nown,0.5,1000,{},{}\n", low, high));
  };
  EXPECT_TRUE(of("0.469", "0.531").empty());
  EXPECT_EQ(of("0.1", "0.9").size(), 1U);
}

TEST(A26, LossesUnderAnAccuracysNameAreSaid) {
  const auto found = printed_findings("A26",
                                      "task,accuracy,n\nMMLU,0.3111,14042\nval_loss,0.6012,\n"
                                      "train/loss,0.4421,\n");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].severity, Severity::kWarn);
  EXPECT_EQ(found[0].line, 3U);
  EXPECT_EQ(found[0].found,
            "losses and error rates under an accuracy's name: val_loss 0.6012, train/loss 0.4421");
  EXPECT_TRUE(
      printed_findings("A26", "task,accuracy,n\nMMLU,0.3111,14042\nlossless,0.5,10\n").empty());
}

}  // namespace
}  // namespace nb::test
