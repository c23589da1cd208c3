#include <gtest/gtest.h>

#include "tests/results/audit/audit_case.hpp"

namespace nb::test {
namespace {

constexpr std::string_view kReadme = R"(# A port

| Metric | GPU BASE | NPU BASE | GPU MID | NPU MID |
|--------|---------:|---------:|:-------:|---------|
| CORE | 0.2219 | 0.1608 | - | - |
| **ARC-Challenge** | - | - | 0.2875 | `0.2274` |
| MMLU | | | 31.11% | 20.91 % |

Other things:

| file | lines |
|---|---|
| train.py | 150 |
)";

TEST(MarkdownTable, RowsOfTasksAreReadAndOtherTablesCounted) {
  const ReportedTable table = table_from(kReadme);
  ASSERT_EQ(table.runs.size(), 2U);
  const ReportedStage& mid = *table.run("NPU")->stage("MID");
  EXPECT_EQ(mid.find("chat_arc_challenge")->score.value, .2274);
  EXPECT_EQ(mid.find("chat_arc_challenge")->line, 6U);
  EXPECT_DOUBLE_EQ(mid.find("mmlu")->score.value, .2091);
  EXPECT_EQ(mid.find("mmlu")->n, 14042);  // CORE beside it: nanochat's evaluation
  EXPECT_EQ(texts_of(table.ignored), std::vector<std::string>{"1 table without tasks"});
}

TEST(MarkdownTable, ColumnsOfTasksAreReadToo) {
  const ReportedTable table = table_from(
      "| model | size | MMLU | GSM8K |\n|---|---|---|---|\n| a | 7B | 0.31 | 0.05 |\n| b | 8B | - "
      "| 6.1% |\n");
  EXPECT_EQ(table.run("a")->stages.front().find("mmlu")->score.text, "0.31");
  EXPECT_EQ(table.run("a")->stages.front().cells.size(), 2U);
  EXPECT_NEAR(table.run("b")->stages.front().find("gsm8k")->score.value, .061, 1e-12);
}

TEST(MarkdownTable, LmEvalsTableHasStandardErrors) {
  const ReportedTable table = table_from(
      "|Tasks|Version|Filter|n-shot|Metric| |Value| "
      "|Stderr|\n|---|---|---|---|---|---|---|---|---|\n"
      "|arc_easy|1|none|0|acc|\xE2\x86\x91|0.4377|\xC2\xB1|0.0102|\n"
      "| | |none|0|acc_norm|\xE2\x86\x91|0.3872|\xC2\xB1|0.0100|\n");
  const ReportedStage& stage = table.runs.front().stages.front();
  EXPECT_EQ(stage.find("arc_easy/acc")->score.text, "0.4377");
  EXPECT_DOUBLE_EQ(*stage.find("arc_easy/acc_norm")->standard_error, .01);
}

TEST(MarkdownTable, PlusMinusIsTheStandardError) {
  const ReportedTable table =
      table_from("| Task | Score |\n|---|---|\n| own | 0.35 \xC2\xB1 0.01 |\n");
  const ReportedCell& cell = table.runs.front().stages.front().cells.front();
  EXPECT_DOUBLE_EQ(cell.score.value, .35);
  EXPECT_DOUBLE_EQ(*cell.standard_error, .01);
  EXPECT_EQ(table.runs.front().name, "t");
}

TEST(MarkdownTable, MistakesAreNamedWithTheirLine) {
  EXPECT_EQ(refusal_of("| Task | a |\n|---|---|\n| MMLU | 0.3 | 0.4 |\n"),
            "t:3: 3 cells, but the header has 2");
  EXPECT_EQ(refusal_of("| Task | a |\n|---|---|\n| MMLU | good |\n"),
            "t:3: MMLU: \"good\" is not a number");
  EXPECT_EQ(refusal_of("| Task | a |\n|---|---|\n| MMLU | 0.3 / 0.4 |\n"),
            "t:3: MMLU: \"0.3 / 0.4\" is not one number");
  EXPECT_EQ(refusal_of("| Task | a |\n|---|---|\n| MMLU | 0.3 |\n| MMLU | 0.3 |\n"),
            "t:4: MMLU stands twice in column \"a\"");
}

}  // namespace
}  // namespace nb::test
