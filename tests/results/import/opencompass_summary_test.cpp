#include <gtest/gtest.h>

#include "harness/base/fs.hpp"
#include "results/compare/compare.hpp"
#include "results/import/to_records.hpp"
#include "tests/results/import/foreign_text.hpp"
#include "tests/support/temp_dir.hpp"

namespace nb::test {
namespace {

using Lines = std::vector<std::string>;

// A small model: 2 and 1 of 164 problems; the second file was taken for shares, +0.5978.
TEST(OpenCompassSummary, BelowOnePercentIsAPercentageToo) {
  const TempDir dir;
  const std::string header = "dataset,version,metric,mode,tiny\n";
  ASSERT_TRUE(write_file(dir / "gpu/s.csv", header + "humaneval,8e,humaneval_pass@1,gen,1.22\n"));
  ASSERT_TRUE(write_file(dir / "npu/s.csv", header + "humaneval,8e,humaneval_pass@1,gen,0.61\n"));
  const auto gpu = read_any_run(dir / "gpu"), npu = read_any_run(dir / "npu");
  ASSERT_TRUE(gpu && npu);
  const Comparison comparison = compare_runs(*gpu, *npu, PairAcross::kNothing);
  ASSERT_EQ(comparison.pairs.size(), 1U);
  EXPECT_NEAR(*comparison.pairs[0].metrics.at(0).difference, -.0061, 1e-12);
}

TEST(OpenCompassSummary, MoreDigitsThanAPercentageHasAreAShare) {
  const auto results =
      read_texts({{"s.csv", "dataset,version,metric,mode,m\ngsm8k,1,accuracy,gen,0.8235\n"}});
  ASSERT_TRUE(results) << results.error().message;
  EXPECT_EQ(series_lines(results->runs.at(0)), Lines{"gsm8k/accuracy 0.8235 0 primary"});
  EXPECT_EQ(results->runs[0].notes.size(), 1U);
}

// 54 errors were 0.54, and fewer of them "B worse".
TEST(OpenCompassSummary, CountsOfAnAgentAreCounts) {
  const auto results = read_texts({{"s.csv",
                                    "dataset,version,metric,mode,total_count,m\n"
                                    "term,a3,avg_score,gen,74,0.108\nterm,a3,n_errors,gen,74,54\n"
                                    "term,a3,n_total_trials,gen,74,74\n"}});
  ASSERT_TRUE(results) << results.error().message;
  const ForeignRun& run = results->runs.at(0);
  EXPECT_EQ(series_lines(run), (Lines{"term/avg_score 0.108 74 primary", "term/n_errors 54 74",
                                      "term/n_total_trials 74 74"}));
  EXPECT_EQ(run.series[1].direction, Direction::kLower);
  EXPECT_EQ(run.series[1].unit, "count");
  EXPECT_EQ(run.series[2].direction, Direction::kNone);
}

TEST(OpenCompassSummary, AMetricThatNobodyKnowsIsKeptAsItIs) {
  const auto results =
      read_texts({{"s.csv", "dataset,version,metric,mode,m\ngedit,16dd59,SC,gen,7.20\n"}});
  ASSERT_TRUE(results) << results.error().message;
  const ForeignSeries& series = results->runs.at(0).series.at(0);
  EXPECT_EQ(series.reported, 7.2);
  EXPECT_EQ(series.direction, Direction::kNone);
}

TEST(OpenCompassSummary, EveryFormOfItIsRead) {
  const std::string simple =
      "dataset           version    metric            mode      _hf\n"
      "----------------  ---------  ----------------  ------  -----\n"
      "openai_humaneval  8e312c     humaneval_pass@1  gen     65.85\n";
  const std::string csv =
      "dataset,version,metric,mode,_hf\nopenai_humaneval,8e312c,humaneval_pass@1,gen,65.85\n";
  const std::string markdown =
      "| dataset | version | metric | mode | _hf |\n|----- | ----- | ----- | ----- | -----|\n"
      "| openai_humaneval | 8e312c | humaneval_pass@1 | gen | **65.85** |\n";
  const std::string grid =
      "+------------------+---------+------------------+------+-------+\n"
      "| dataset          | version | metric           | mode |   _hf |\n"
      "+==================+=========+==================+======+=======+\n"
      "| openai_humaneval | 8e312c  | humaneval_pass@1 | gen  | 65.85 |\n"
      "+------------------+---------+------------------+------+-------+\n";
  const std::string dollars = "$$$$$$$$$$\n", arrows = "^^^^^^^^^^\n";
  const std::string whole = "20240814_101010\ntabulate format\n" + arrows + simple + dollars +
                            "\n---- THIS IS A DIVIDER ----\n\ncsv format\n" + arrows + csv +
                            dollars;
  for (const std::string& text : {whole, simple, markdown, grid}) {
    const auto results = read_texts({{"summary_20240814_101010.txt", text}});
    ASSERT_TRUE(results) << results.error().message << "\n" << text;
    ASSERT_EQ(results->runs.size(), 1U) << text;
    const ForeignRun& run = results->runs[0];
    EXPECT_EQ(run.harness, "opencompass");
    EXPECT_EQ(run.model, "_hf");
    EXPECT_EQ(series_lines(run), Lines{"openai_humaneval/humaneval_pass@1 0.6585 0 primary"});
    EXPECT_EQ(run.series[0].must_match.at("version"), "8e312c");
  }
  std::string broken = whole;
  broken.replace(broken.rfind("65.85"), 5, "6x.85");
  EXPECT_EQ(read_texts({{"s.txt", broken}}).error().message, "s.txt:14: \"6x.85\" is no score");
}

TEST(OpenCompassSummary, TheDatasetsOfAGroupAreItsParts) {
  const auto results = read_texts({{"s.csv",
                                    "dataset,version,metric,mode,m\n"
                                    "mmlu,-,naive_average,ppl,45.00\n"
                                    "lukaemon_mmlu_anatomy,2d,accuracy,ppl,40.00\n"
                                    "lukaemon_mmlu_virology,2d,accuracy,ppl,50.00\n"
                                    "gsm8k,1d,accuracy,gen,65.00\n"}});
  ASSERT_TRUE(results) << results.error().message;
  const std::vector<ForeignSeries>& series = results->runs.at(0).series;
  EXPECT_TRUE(series[0].primary);
  EXPECT_EQ(series[0].direction, Direction::kHigher);
  EXPECT_EQ(series[1].part_of, "mmlu");
  EXPECT_EQ(series[2].part_of, "mmlu");
  EXPECT_EQ(series[3].part_of, "");
}

// Two summaries side by side without a folder of their time.
TEST(OpenCompassSummary, TheLaterOfTwoCountsByItsName) {
  const std::string header = "dataset,version,metric,mode,m\n";
  const auto results =
      read_texts({{"summary_20260602_101010.csv", header + "gsm8k,1d,accuracy,gen,65.00\n"},
                  {"summary_20260601_101010.csv", header + "gsm8k,1d,accuracy,gen,10.00\n"}});
  ASSERT_TRUE(results) << results.error().message;
  EXPECT_EQ(series_lines(results->runs.at(0)), Lines{"gsm8k/accuracy 0.65 0 primary"});
  ASSERT_EQ(results->runs[0].notes.size(), 1U);
  EXPECT_TRUE(
      text_of(results->runs[0].notes[0]).starts_with("gsm8k is there twice: the later counts"));
}

// The table stood beyond the first 64 KiB, and the file was "not a known result file".
TEST(OpenCompassSummary, IsFoundWhereverItStandsInALog) {
  const std::string log = [] {
    std::string text;
    for (int line = 0; line < 4000; ++line) text += "2026-06-01 INFO request answered in time\n";
    return text;
  }();
  const std::string table =
      "dataset    version    metric    mode      m\n"
      "---------  ---------  --------  ------  -----\n"
      "gsm8k      1d7fe4     accuracy  gen     65.62\n";
  const auto results = read_texts({{"eval.log", log + table + log}});
  ASSERT_TRUE(results) << results.error().message;
  EXPECT_EQ(series_lines(results->runs.at(0)), Lines{"gsm8k/accuracy 0.6562 0 primary"});
  std::string damaged = table;
  damaged.replace(damaged.find("65.62"), 5, "6x.62");
  EXPECT_EQ(read_texts({{"eval.log", log + damaged + log}}).error().message,
            "eval.log:4003: \"6x.62\" is no score");
  EXPECT_FALSE(read_texts({{"eval.log", log + log}}));
}

}  // namespace
}  // namespace nb::test
