#include "results/audit/printed_tables.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "results/audit/to_foreign.hpp"
#include "tests/results/audit/audit_case.hpp"

namespace nb::test {
namespace {

using Rows = std::vector<std::vector<std::string>>;

TEST(PrintedTables, MarkdownGridsAndBoxesGiveTheSameRows) {
  const Rows rows = {{"task", "a"}, {"x", "1"}, {"y", "2"}};
  for (const char* text :
       {"| task | a |\n|---|---|\n| x | 1 |\n| y | 2 |\n", "task | a\n-|-\nx | 1\ny | 2\n",
        "> |task|a|\n> |:-|-:|\n> |x|1|\n> |y|2|\n",
        "+------+---+\n| task | a |\n+======+===+\n| x    | 1 |\n| y    | 2 |\n"
        "+------+---+\n",
        "┌──────┬───┐\n│ task │ a │\n├──────┼───┤\n│ x    │ 1 │\n├──────┼───┤\n"
        "│ y    │ 2 │\n└──────┴───┘\n"}) {
    const auto tables = printed_tables(text);
    ASSERT_EQ(tables.size(), 1U) << text;
    EXPECT_EQ(tables[0].rows, rows) << text;
  }
}

TEST(PrintedTables, CellsOfAGridThatAreBrokenAreOneText) {
  const auto tables = printed_tables(
      "+------+---+\n| task | a |\n+======+===+\n| a    | 1 |\n| long |   |\n+------+---+\n| b    "
      "| "
      "2 |\n+------+---+\n");
  ASSERT_EQ(tables.size(), 1U);
  EXPECT_EQ(tables[0].rows, (Rows{{"task", "a"}, {"a long", "1"}, {"b", "2"}}));
  EXPECT_EQ(tables[0].lines, (std::vector<std::size_t>{2, 4, 7}));
}

TEST(PrintedTables, BlankRowsAndBarsOfLogsAreNoRules) {
  EXPECT_TRUE(printed_tables("step 1 | loss 2.0 |\nstep 2 | loss 1.9 |\n").empty());
  const auto tables = printed_tables("|a|b|\n|---|---|\n| - | - |\n|1|2|\n");
  ASSERT_EQ(tables.size(), 1U);
  EXPECT_EQ(tables[0].rows, (Rows{{"a", "b"}, {"-", "-"}, {"1", "2"}}));
}

TEST(PrintedTables, IndentsOfTheFirstCellAreKept) {
  const auto tables = printed_tables("|Tasks|v|\n|---|---|\n|mmlu|1|\n| - stem|2|\n|  - law|3|\n");
  EXPECT_EQ(tables.at(0).indents, (std::vector<std::size_t>{0, 0, 1, 2}));
}

// Losses and error rates were accuracies, eval_runtime made the file unreadable.
TEST(TablesOfMetrics, ATrainersJsonKeepsWhatEachNumberIs) {
  const ForeignResults results = foreign_of(table_from(
      R"({"train_loss": 0.2421, "eval_loss": 0.3012, "eval_accuracy": 0.713, "wer": 0.12,
          "eval_runtime": 12.5, "eval_samples_per_second": 80.1, "epoch": 3.0, "eval_samples": 1000,
          "own_number": 7.5, "model": "m"})"));
  const ForeignRun& run = results.runs.at(0);
  const auto series = [&](const std::string& name) {
    const auto at = std::ranges::find_if(
        run.series, [&](const ForeignSeries& one) { return one.name.metric == name; });
    EXPECT_NE(at, run.series.end()) << name;
    return at == run.series.end() ? ForeignSeries() : *at;
  };
  EXPECT_EQ(series("eval_accuracy").direction, Direction::kHigher);
  EXPECT_EQ(series("eval_accuracy").name.task, "");
  EXPECT_EQ(series("eval_loss").direction, Direction::kLower);
  EXPECT_EQ(series("train_loss").unit, "nat");
  EXPECT_EQ(series("wer").unit, "error ratio");
  EXPECT_EQ(series("wer").direction, Direction::kLower);
  EXPECT_EQ(series("own_number").direction, Direction::kNone);
  EXPECT_EQ(series("epoch").direction, Direction::kNone);
  EXPECT_FALSE(series("epoch").primary);
  ASSERT_EQ(run.metrics.size(), 2U);
  EXPECT_EQ(run.metrics[0].name, "eval_runtime");
  EXPECT_EQ(run.metrics[0].clock, Clock::kDevice);
  EXPECT_EQ(run.metrics[1].direction, Direction::kHigher);
  EXPECT_EQ(run.provenance.at("model"), "m");
}

// val_bpb was dropped without a word.
TEST(TablesOfMetrics, ACsvOfMetricsKeepsAllOfThem) {
  const ForeignResults results =
      foreign_of(table_from("metric,value\nval_bpb,0.838\nCORE,0.159\nown,12\nnote,see below\n"));
  const ForeignRun& run = results.runs.at(0);
  ASSERT_EQ(run.series.size(), 3U);
  EXPECT_EQ(run.series[0].name.metric, "val_bpb");
  EXPECT_EQ(run.series[0].direction, Direction::kLower);
  EXPECT_EQ(run.series[0].unit, "bit/byte");
  EXPECT_EQ(run.series[0].reported, .838);
  EXPECT_EQ(run.series[1].name.task, "core");
  EXPECT_EQ(run.series[2].direction, Direction::kNone);
  EXPECT_EQ(texts_of(results.ignored), std::vector<std::string>{"line 5: note is \"see below\""});
}

TEST(TablesOfMetrics, TasksWithSeveralMetricsKeepThemApart) {
  const auto names = [](std::string_view text) {
    std::vector<std::string> all;
    const ForeignResults results = foreign_of(table_from(text));
    for (const ForeignSeries& one : results.runs.at(0).series)
      all.push_back(one.name.task + "/" + one.name.metric);
    return all;
  };
  using Names = std::vector<std::string>;
  EXPECT_EQ(names("task,metric,value\nown,acc,0.5\nown,f1,0.6\nown,loss,2.5\n"),
            (Names{"own/acc", "own/f1", "own/loss"}));
  EXPECT_EQ(names(R"({"own": {"accuracy": 0.5, "ppl": 9.5, "n": 100}, "b": {"em": 0.25}})"),
            (Names{"b/em", "own/accuracy", "own/ppl"}));
  EXPECT_EQ(names(R"({"results": {"a": {"exact_match,strict-match": 0.5, "acc,none": 0.6}}})"),
            (Names{"a/acc", "a/exact_match"}));
  EXPECT_EQ(
      names("| Task | Metric | Value |\n|---|---|---|\n| own | acc | 0.5 |\n|  | f1 | 0.6 |\n"),
      (Names{"own/acc", "own/f1"}));
  EXPECT_EQ(names("model,MMLU,GSM8K (%),val_bpb\nm,0.71,5.0,0.81\n"),
            (Names{"mmlu/accuracy", "gsm8k/accuracy", "/val_bpb"}));
}

TEST(TablesOfMetrics, ScaleIsOfAMetricNotOfACell) {
  const ReportedTable table = table_from(
      "| Benchmark | Metric | GPU | NPU |\n|---|---|---|---|\n| MMLU | acc | 71.2 | 0.9 |\n"
      "| ASR | WER ↓ | 0.043 | 0.051 |\n| text | bits_per_byte | 0.62 | 0.63 |\n");
  const ReportedStage& gpu = table.run("GPU")->stages.front();
  EXPECT_NEAR(gpu.find("mmlu")->score.value, .712, 1e-12);
  EXPECT_DOUBLE_EQ(table.run("NPU")->stages.front().find("mmlu")->score.value, .009);
  EXPECT_EQ(gpu.find("ASR")->score.value, .043);
  EXPECT_EQ(gpu.find("text")->score.value, .62);
  const ForeignResults results = foreign_of(table);
  EXPECT_EQ(results.runs[0].series[1].name.metric, "WER");
  EXPECT_EQ(results.runs[0].series[1].direction, Direction::kLower);
}

TEST(TablesOfMetrics, HeadsSayPercentShotsAndDirection) {
  const ReportedTable table = table_from(
      "| Model | MMLU (5-shot) ↑ | HumanEval (pass@1) | GSM8K (%) |\n|---|---|---|---|\n"
      "| a | 0.71 | 0.35 ± 0.03 | 0.8 |\n");
  const ReportedStage& stage = table.run("a")->stages.front();
  EXPECT_EQ(stage.find("mmlu")->shots, "5");
  EXPECT_EQ(stage.find("humaneval")->metric, "pass@1");
  EXPECT_EQ(*stage.find("humaneval")->standard_error, .03);
  EXPECT_NEAR(stage.find("gsm8k")->score.value, .008, 1e-12);
}

TEST(TablesOfMetrics, AColumnOfDifferencesIsNoRun) {
  const ReportedTable table = table_from(
      "| Task | GPU | NPU | Diff |\n|---|---|---|---|\n| MMLU | ↑ 0.71 | 0.70 | -0.01 |\n");
  EXPECT_EQ(table.runs.size(), 2U);
  EXPECT_EQ(table.run("GPU")->stages.front().find("mmlu")->score.value, .71);
  EXPECT_EQ(texts_of(table.ignored),
            std::vector<std::string>{"column \"Diff\", which follows from the others"});
}

}  // namespace
}  // namespace nb::test
