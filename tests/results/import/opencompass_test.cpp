#include <gtest/gtest.h>

#include "results/import/formats.hpp"
#include "tests/results/import/foreign_text.hpp"

namespace nb {
namespace {

using test::read_texts;
using test::series_lines;
using Lines = std::vector<std::string>;

TEST(OpenCompass, SummaryIsARunForEachColumn) {
  const auto results = read_texts({{"summary/summary_20251016_235030.csv",
                                    "dataset,version,metric,mode,model-a,model-b\n"
                                    "--- Exam ---,-,-,-,19.18,-\n"
                                    "gsm8k,1d7fe4,accuracy,gen,65.62,70.10\n"
                                    "gsm8k,1d7fe4,rouge1,gen,12.00,13.00\n"
                                    "ceval,-,naive_average,gen,47.03,-\n"
                                    "mmlu,-,-,-,-,-\n"}});
  ASSERT_TRUE(results) << results.error().message;
  ASSERT_EQ(results->runs.size(), 2u);
  EXPECT_EQ(results->runs[0].model, "model-a");
  EXPECT_EQ(series_lines(results->runs[0]),
            (Lines{"gsm8k/accuracy 0.6562 0 primary", "gsm8k/rouge1 0.12 0",
                   "ceval/naive_average 0.4703 0"}));
  EXPECT_EQ(results->runs[0].series[0].must_match.at("version"), "1d7fe4");
  EXPECT_EQ(results->runs[0].provenance.at("mode:gsm8k"), "gen");
  EXPECT_EQ(series_lines(results->runs[1]),
            (Lines{"gsm8k/accuracy 0.701 0 primary", "gsm8k/rouge1 0.13 0"}));
}

TEST(OpenCompass, AisBenchCountsAndSharesAreChecked) {
  const auto results = read_texts({{"s.csv",
                                    "dataset,version,metric,mode,total_count,m\n"
                                    "gsm8k,1,accuracy,gen,8,87.50 (7/8)\n"
                                    "aime,1,accuracy,gen,8,82.00 (7/8)\n"}});
  ASSERT_TRUE(results) << results.error().message;
  const ForeignRun& run = results->runs.at(0);
  EXPECT_EQ(series_lines(run),
            (Lines{"gsm8k/accuracy 0.875 8 primary", "aime/accuracy 0.82 8 primary"}));
  EXPECT_EQ(texts_of(run.notes),
            Lines{"s.csv:3: 82.00 (7/8) says 7 of 8 are right, which is 0.8750"});
}

constexpr const char* kOpenCompassDetails =
    R"({"accuracy": 66.66666666666667, "details": {"type": "GEN",
 "0": {"prompt": [{"role": "HUMAN", "prompt": "1 + 1?"}], "origin_prediction": "It is 2", "predictions": "2",
       "references": "2", "correct": true},
 "1": {"prompt": "2 + 2?", "origin_prediction": "5", "predictions": ["5"], "references": ["4"], "correct": [false]},
 "2": {"prompt": "3 + 3?", "origin_prediction": "6", "predictions": "6", "references": "6", "correct": true}}})";

TEST(OpenCompass, ResultsWithItemsJoinTheSummaryOfTheirStart) {
  const auto results =
      read_texts({{"20251016_235030/results/m/gsm8k.json", kOpenCompassDetails},
                  {"20251016_235030/predictions/m/gsm8k.json",
                   R"({"0": {"origin_prompt": "1 + 1?", "prediction": "It is 2", "gold": "2"}})"},
                  {"20251016_235030/summary/summary_20251016_235030.csv",
                   "dataset,version,metric,mode,m\ngsm8k,1d7fe4,accuracy,gen,66.67\n"},
                  {"20251015_000000/summary/summary_20251015_000000.csv",
                   "dataset,version,metric,mode,m\ngsm8k,1d7fe4,accuracy,gen,10.00\n"}});
  ASSERT_TRUE(results) << results.error().message;
  ASSERT_EQ(results->runs.size(), 1u);
  const ForeignRun& run = results->runs[0];
  EXPECT_EQ(series_lines(run), Lines{"gsm8k/accuracy 0.666667 3 primary"});
  EXPECT_DOUBLE_EQ(run.series[0].reported.value(), 2.0 / 3);  // not the rounded one
  EXPECT_EQ(run.series[0].items[1].prediction, "5");
  EXPECT_EQ(run.series[0].items[1].gold, "4");
  ASSERT_EQ(run.notes.size(), 1u);
  EXPECT_TRUE(text_of(run.notes[0]).starts_with("gsm8k is there twice: the later counts"))
      << text_of(run.notes[0]);
  EXPECT_EQ(
      texts_of(results->ignored),
      Lines{"20251016_235030/predictions/m/gsm8k.json: predictions have no scores; opencompass "
            "writes them with --dump-eval-details"});
}

TEST(OpenCompass, RepetitionsOfAnItemAreItsSamples) {
  const auto results =
      read_texts({{"results/m/aime.json",
                   R"--({"accuracy (2 runs average)": 50.0, "G-Pass@2_0.5": 75.0, "details": [
           {"example_abbr": "a_0", "pred": ["1", "2"], "answer": ["1", "1"], "correct": [true, false]}]})--"}});
  ASSERT_TRUE(results) << results.error().message;
  const ForeignRun& run = results->runs.at(0);
  EXPECT_EQ(series_lines(run),
            (Lines{"aime/G-Pass@2_0.5 0.75 0", "aime/accuracy (2 runs average) 0.5 1 primary"}));
  EXPECT_EQ(run.series[1].must_match.at("samples"), "2");
  EXPECT_EQ(run.series[1].items[0].sample_ok, (std::vector<int>{1, 0}));
}

TEST(OpenCompass, ItemsWithoutMarksAreMarkedWhereThatGivesTheFilesAccuracy) {
  const auto read = [](const std::string& accuracy) {
    return read_texts({{"results/m/ceval.json", R"({"accuracy": )" + accuracy + R"(, "details": {
      "0": {"prompt": "L0", "origin_prediction": "It is B", "predictions": "B", "references": "B"},
      "1": {"prompt": "L1", "origin_prediction": "It is A", "predictions": "A", "references": "B"}}})"}});
  };
  const auto right = read("50.0"), wrong = read("60.0");
  ASSERT_TRUE(right && wrong);
  EXPECT_EQ(right->runs.at(0).series.at(0).items.size(), 2u);
  EXPECT_EQ(right->runs[0].notes.size(), 1u);
  EXPECT_TRUE(wrong->runs.at(0).series.at(0).items.empty());
  EXPECT_EQ(texts_of(wrong->ignored),
            Lines{"results/m/ceval.json: 2 of its items have no score; the total counts"});
}

TEST(OpenCompass, ADamagedItemIsNamed) {
  const auto error = [](const std::string& items) {
    const auto results = read_texts(
        {{"results/m/x.json",
          R"({"accuracy": 50.0, "details": {"type": "GEN", "0": {"prompt": "Q", "origin_prediction": "1", "predictions": "1", "references": "1", "correct": true})" +
              items}},
        "results/m/x.json");
    return results ? std::string() : results.error().message;
  };
  EXPECT_EQ(error("}}"), "");
  EXPECT_EQ(
      error(R"(, "1": {"prompt": "Q", "correct": NaN}}})"),
      "results/m/x.json: /details/1:1:28: a score is not a number (NaN or infinite), which is "
      "no JSON; put null there to leave it out");
  EXPECT_EQ(error(R"(, "1": {"prompt")").find("results/m/x.json: byte "), 0u);
  EXPECT_EQ(
      error(R"(, "0": {"correct": true}}})"),
      "results/m/x.json: /details/0: item 0 of x/accuracy occurs twice; is the same file there "
      "twice, or are two runs in one?");
}

TEST(OpenCompass, BadCellsAreNamedWithTheirLine) {
  const auto results =
      read_texts({{"s.csv", "dataset,version,metric,mode,m\ngsm8k,1,accuracy,gen,6x\n"}});
  ASSERT_FALSE(results);
  EXPECT_EQ(results.error().message, "s.csv:2: \"6x\" is no score");
  EXPECT_EQ(read_texts({{"s.csv", "dataset,version,metric,mode,m\nx,1,accuracy,gen,50.00 (1/0)\n"}})
                .error()
                .message,
            "s.csv:2: \"50.00 (1/0)\" is no score");
}

}  // namespace
}  // namespace nb
