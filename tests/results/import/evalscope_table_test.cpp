#include <gtest/gtest.h>

#include "tests/results/import/foreign_text.hpp"

namespace nb::test {
namespace {

using Lines = std::vector<std::string>;

TEST(EvalscopeTable, OldGridsHaveASubsetARow) {
  const auto results = read_texts({{"log.txt",
                                    "2025-01-01 INFO: Report table:\n"
                                    "+------------+--------------+-----------------+---------------"
                                    "+---------------+-------+---------+\n"
                                    "| Model Name | Dataset Name | Metric Name     | Category Name "
                                    "| Subset Name   |   Num |   Score |\n"
                                    "+============+==============+=================+==============="
                                    "+===============+=======+=========+\n"
                                    "| Q-0.5B     | gsm8k        | AverageAccuracy | default       "
                                    "| main          |     5 |     0.4 |\n"
                                    "+------------+--------------+-----------------+---------------"
                                    "+---------------+-------+---------+\n"
                                    "| Q-0.5B     | ai2_arc      | AverageAccuracy | default       "
                                    "| ARC-Easy      |     5 |     0.8 |\n"
                                    "+------------+--------------+-----------------+---------------"
                                    "+---------------+-------+---------+\n"
                                    "| Q-0.5B     | ai2_arc      | AverageAccuracy | default       "
                                    "| ARC-Challenge |     5 |     0.4 |\n"
                                    "+------------+--------------+-----------------+---------------"
                                    "+---------------+-------+---------+\n"}});
  ASSERT_TRUE(results) << results.error().message;
  const ForeignRun& run = results->runs.at(0);
  EXPECT_EQ(run.harness, "evalscope");
  EXPECT_EQ(run.model, "Q-0.5B");
  EXPECT_EQ(series_lines(run), (Lines{"gsm8k/AverageAccuracy 0.4 5 primary",
                                      "ai2_arc:ARC-Easy/AverageAccuracy 0.8 5 primary",
                                      "ai2_arc:ARC-Challenge/AverageAccuracy 0.4 5 primary"}));
  EXPECT_EQ(run.series[0].direction, Direction::kHigher);
}

TEST(EvalscopeTable, NewBoxesHaveArrowsAndPercentSigns) {
  const auto results =
      read_texts({{"log.txt",
                   "┌────────┬───────────┬────────────┬─────────┬───────┬─────────┐\n"
                   "│ Model  │ Dataset   │ Metric     │ Subset  │   Num │ Score   │\n"
                   "├────────┼───────────┼────────────┼─────────┼───────┼─────────┤\n"
                   "│ q      │ MMLU      │ Accuracy ↑ │ law     │    10 │ 30%     │\n"
                   "├────────┼───────────┼────────────┼─────────┼───────┼─────────┤\n"
                   "│ q      │ MMLU      │ Accuracy ↑ │ math    │    30 │ 50%     │\n"
                   "├────────┼───────────┼────────────┼─────────┼───────┼─────────┤\n"
                   "│ q      │ MMLU      │ Accuracy ↑ │ OVERALL │    40 │ 45%     │\n"
                   "├────────┼───────────┼────────────┼─────────┼───────┼─────────┤\n"
                   "│ q      │ torgo     │ WER ↓      │ default │    50 │ 4.3%    │\n"
                   "└────────┴───────────┴────────────┴─────────┴───────┴─────────┘\n"}});
  ASSERT_TRUE(results) << results.error().message;
  const ForeignRun& run = results->runs.at(0);
  EXPECT_EQ(series_lines(run),
            (Lines{"MMLU:law/Accuracy 0.3 10", "MMLU:math/Accuracy 0.5 30",
                   "MMLU/Accuracy 0.45 40 primary", "torgo/WER 0.043 50 primary"}));
  EXPECT_EQ(run.series[3].direction, Direction::kLower);
  EXPECT_EQ(run.series[3].unit, "error ratio");
}

TEST(EvalscopeTable, MistakesAreNamedWithTheirLine) {
  const auto results =
      read_texts({{"t.md",
                   "| Model | Dataset | Metric | Subset | Num | Score |\n|--|--|--|--|--|--|\n"
                   "| m | gsm8k | acc | main | 5 | good |\n"}});
  ASSERT_FALSE(results);
  EXPECT_EQ(results.error().message, "t.md:3: gsm8k: \"good\" is not a number");
}

// The table stood beyond the first 64 KiB, and the file was "not a known result file".
TEST(EvalscopeTable, IsFoundWhereverItStandsInALog) {
  const std::string log = [] {
    std::string text;
    for (int line = 0; line < 4000; ++line) text += "2026-06-01 INFO request answered in time\n";
    return text;
  }();
  const auto table = [](const std::string& score) {
    return "| Model | Dataset | Metric | Subset | Num | Score |\n|--|--|--|--|--|--|\n"
           "| m | gsm8k | acc | main | 5 | " +
           score + " |\n";
  };
  const auto results = read_texts({{"eval.log", log + table("0.8") + log}});
  ASSERT_TRUE(results) << results.error().message;
  EXPECT_EQ(series_lines(results->runs.at(0)), Lines{"gsm8k/acc 0.8 5 primary"});
  EXPECT_EQ(read_texts({{"eval.log", log + table("good") + log}}).error().message,
            "eval.log:4003: gsm8k: \"good\" is not a number");
}

}  // namespace
}  // namespace nb::test
