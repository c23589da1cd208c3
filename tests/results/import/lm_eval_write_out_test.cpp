#include <gtest/gtest.h>

#include "results/import/formats.hpp"
#include "tests/results/import/expected.hpp"
#include "tests/results/import/foreign_text.hpp"

namespace nb {
namespace {

using test::read_texts;
using Lines = std::vector<std::string>;

constexpr const char* kWriteOut = R"--([
{"doc_id": 0, "prompt_0": "Good or bad?\nAnswer:\nuntil", "logit_0": "Good", "truth": "good",
 "acc": "1.0", "missing": "0", "f1": "('good', 'good')", "mcc": "('good', 'good')"},
{"doc_id": 1, "prompt_0": "And this?\nAnswer:\nuntil", "logit_0": "", "truth": "bad",
 "acc": "0.0", "missing": "1", "f1": "('', 'bad')", "mcc": "('', 'bad')"}])--";

TEST(LmEvalWriteOut, NumbersAreTextsAndTuplesAreNoMarks) {
  for (const std::string path :
       {"gpt4/sentiment_write_out_info.json", "gpt4/sentiment/sentiment_write_out_info.json"}) {
    const auto results = read_texts({{path, kWriteOut}});
    ASSERT_TRUE(results) << results.error().message;
    const ForeignRun& run = results->runs.at(0);
    EXPECT_EQ(run.model, "gpt4");
    EXPECT_EQ(test::series_lines(run), Lines{"sentiment/acc 0.5 2 primary"});
    EXPECT_EQ(run.series[0].items[0].prediction, "Good");
    EXPECT_EQ(run.series[0].items[1].reason, "no answer");
    EXPECT_EQ(results->ignored.size(), 2u);
  }
}

TEST(LmEvalWriteOut, StrayUntilChangesThePromptButNotTheItem) {
  std::string clean = kWriteOut;
  for (std::size_t at; (at = clean.find("\\nuntil")) != std::string::npos;) clean.erase(at, 7);
  const auto a = read_texts({{"m/t_write_out_info.json", kWriteOut}});
  const auto b = read_texts({{"m/t_write_out_info.json", clean}});
  ASSERT_TRUE(a && b);
  const auto counts = test::counts_of(a->runs[0].series.at(0), b->runs[0].series.at(0));
  EXPECT_EQ(counts.unpaired, 0);
  EXPECT_EQ(counts.prompts_equal, 0);
}

TEST(LmEvalWriteOut, ChoicesWithTheirLogProbabilities) {
  const auto results = read_texts(
      {{"m/t_write_out_info.json",
        R"([{"doc_id": 3, "prompt_0": "Q a", "prompt_1": "Q b", "logit_0": -2.5, "logit_1": -1.5,
             "truth": 1, "acc": "1.0", "acc_norm": "0.0"}])"}});
  ASSERT_TRUE(results) << results.error().message;
  const ForeignRun& run = results->runs.at(0);
  EXPECT_EQ(test::series_lines(run), (Lines{"t/acc 1 1", "t/acc_norm 0 1 primary"}));
  EXPECT_EQ(run.series[0].items[0].log_probs, (std::vector<float>{-2.5F, -1.5F}));
  EXPECT_EQ(run.series[0].items[0].prediction, "1");
}

TEST(LmEvalWriteOut, RealFilesHaveTheRowsAndMeansOfAnIndependentScript) {
  NB_NEEDS_IMPORTS();
  int files = 0;
  for (const auto& entry : test::expected("files", "lm_eval/colfeng__CALM")) {
    ++files;
    const auto results = read_foreign(test::imports_dir() / entry.at("file").get<std::string>());
    ASSERT_TRUE(results) << results.error().message;
    const ForeignRun& run = results->runs.at(0);
    EXPECT_EQ(run.model, entry.at("model").get<std::string>());
    ASSERT_EQ(run.series.size(), 1u);
    EXPECT_EQ(run.series[0].name.task, entry.at("task").get<std::string>());
    EXPECT_EQ(run.series[0].items.size(), entry.at("rows").get<std::size_t>());
    EXPECT_DOUBLE_EQ(test::mean_of(run.series[0]), entry.at("acc").get<double>());
  }
  EXPECT_EQ(files, 5);
}

TEST(LmEvalWriteOut, RealPairsHaveTheCountsOfAnIndependentScript) {
  NB_NEEDS_IMPORTS();
  const auto pairs = test::expected("pairs", "lm_eval/");
  EXPECT_EQ(pairs.size(), 4u);
  for (const auto& pair : pairs) {
    const std::string name = pair.at("name");
    const std::string task = name.substr(0, name.find(':')), metric = pair.at("metric");
    const auto a = test::series_of(pair.at("a").at("files"), task, metric);
    const auto b = test::series_of(pair.at("b").at("files"), task, metric);
    ASSERT_TRUE(a && b) << name;
    const bool by_text = pair.contains("paired_by_text");
    const auto& expected = by_text ? pair.at("paired_by_text") : pair;
    const auto counts = test::counts_of(*a, *b);
    EXPECT_EQ(counts.both_right, expected.at("both_right").get<int>()) << name;
    EXPECT_EQ(counts.only_a, expected.at("only_a").get<int>()) << name;
    EXPECT_EQ(counts.only_b, expected.at("only_b").get<int>()) << name;
    EXPECT_EQ(counts.both_wrong, expected.at("both_wrong").get<int>()) << name;
    EXPECT_EQ(counts.unpaired, 0) << name;
    EXPECT_EQ(counts.prompts_equal, pair.at("prompts_equal").get<int>()) << name;
    EXPECT_EQ(counts.targets_equal,
              pair.at(by_text ? "targets_equal_by_text" : "targets_equal").get<int>())
        << name;
  }
}

}  // namespace
}  // namespace nb
