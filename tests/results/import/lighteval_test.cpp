#include <gtest/gtest.h>

#include "results/import/formats.hpp"
#include "tests/results/import/foreign_text.hpp"

namespace nb {
namespace {

using test::read_texts;
using test::series_lines;
using Lines = std::vector<std::string>;

constexpr const char* kLightevalResults = R"({
  "config_general": {"lighteval_sha": "494ee122", "num_fewshot_seeds": 1, "max_samples": null,
    "override_batch_size": 8, "model_name": "a/b", "model_sha": "8443", "model_dtype": "torch.bfloat16"},
  "results": {
    "leaderboard|arc:challenge|25|0": {"acc": 0.5, "acc_stderr": 0.014, "acc_norm": 0.55,
                                       "acc_norm_stderr": 0.0145},
    "mmlu:anatomy|5": {"acc": 0.25}, "mmlu:_average|5": {"acc": 0.25},
    "gsm8k|0": {"em": 0.42, "em_stderr": 0.02},
    "all": {"acc": 0.3, "em": 0.42}},
  "versions": {"gsm8k|0": 1},
  "config_tasks": {"gsm8k|0": {"original_num_docs": 1319, "effective_num_docs": 100,
      "metrics": [{"metric_name": "em", "higher_is_better": true}]},
    "mmlu:anatomy": {"metric": [{"metric_name": "acc", "higher_is_better": false}]}},
  "summary_tasks": {"gsm8k|0": {"hashes": {"hash_examples": "1111222233334444",
                                           "hash_full_prompts": "5555666677778888"}}}})";

TEST(Lighteval, TotalsOfOldAndNewTaskNames) {
  const auto results = read_texts({{"results_2025-01-01T00-00-00.1.json", kLightevalResults}});
  ASSERT_TRUE(results) << results.error().message;
  const ForeignRun& run = results->runs.at(0);
  EXPECT_EQ(run.harness, "lighteval");
  EXPECT_EQ(run.model, "a/b");
  EXPECT_EQ(series_lines(run),
            (Lines{"gsm8k/em 0.42 100 primary", "leaderboard|arc:challenge/acc 0.5 0",
                   "leaderboard|arc:challenge/acc_norm 0.55 0 primary", "mmlu:_average/acc 0.25 0",
                   "mmlu:anatomy/acc 0.25 0 primary"}));
  EXPECT_EQ(run.series[0].available_n, 1319);
  EXPECT_EQ(run.series[0].must_match,
            (std::map<std::string, std::string>{{"shots", "0"}, {"version", "1"}}));
  EXPECT_EQ(run.series[1].must_match.at("shots"), "25");
  EXPECT_EQ(run.series[4].direction, Direction::kLower);  // as its file says, wrong as it is
  EXPECT_EQ(run.provenance.at("dtype"), "bfloat16");
  EXPECT_EQ(run.provenance.at("batch_size"), "8");
  EXPECT_EQ(run.provenance.at("template:gsm8k"), "555566667777");
  EXPECT_EQ(run.provenance.count("limit"), 0u);
}

constexpr const char* kLightevalDetails =
    R"({"doc": {"query": "Q1", "choices": ["a", "b"], "gold_index": 1, "id": "0", "task_name": "arc|25"}, "model_response": {"input": "shots Q1", "text": [], "logprobs": [-3.0, -1.5]}, "metric": {"acc": 1, "f1": [1, 1]}}
{"doc": {"query": "Q2", "choices": ["c"], "gold_index": [0], "id": "1", "task_name": "arc|25"}, "model_response": {"input": "shots Q2", "text": ["so d"], "text_post_processed": ["d"], "logprobs": []}, "metric": {"acc": 0, "f1": [1, 0]}}
)";

TEST(Lighteval, DetailsJoinTheirTotals) {
  const std::string stamp = "2025-01-01T00-00-00.1";
  const auto results = read_texts(
      {{"details/a/b/" + stamp + "/details_arc|25_" + stamp + ".jsonl", kLightevalDetails},
       {"results/a/b/results_" + stamp + ".json",
        R"({"config_general": {"model_name": "a/b"}, "results": {"arc|25": {"acc": 0.5}}})"}});
  ASSERT_TRUE(results) << results.error().message;
  ASSERT_EQ(results->runs.size(), 1u);
  const ForeignRun& run = results->runs[0];
  EXPECT_EQ(run.model, "a/b");
  EXPECT_EQ(texts_of(run.notes), Lines{});
  EXPECT_EQ(series_lines(run), Lines{"arc/acc 0.5 2 primary"});
  EXPECT_EQ(run.series[0].reported, 0.5);
  EXPECT_EQ(run.series[0].items[0].prediction, "1");
  EXPECT_EQ(run.series[0].items[0].log_probs, (std::vector<float>{-3, -1.5}));
  EXPECT_EQ(run.series[0].items[1].prediction, "d");
  ASSERT_EQ(results->ignored.size(), 1u);
  EXPECT_TRUE(text_of(results->ignored[0])
                  .ends_with("f1 has no value of its own for each item; its total "
                             "counts"));
}

TEST(Lighteval, DamagedFilesAreNamed) {
  const auto error = [](const std::string& text) {
    const auto results = read_texts({{"r.json", text}});
    return results ? std::string("none") : results.error().message;
  };
  EXPECT_EQ(error(R"({"config_general": {}, "results": []})"),
            "r.json: /results is no object of tasks");
  // Real files have NaN where a metric could not be computed.
  const auto results = read_texts(
      {{"r.json", R"({"config_general": {}, "results": {"t|0": {"acc": 0.5, "acc_stderr": NaN,
        "f1": NaN}}})"}});
  ASSERT_TRUE(results) << results.error().message;
  EXPECT_EQ(series_lines(results->runs.at(0)), (Lines{"t/acc 0.5 0 primary", "t/f1 absent 0"}));
  EXPECT_EQ(texts_of(results->runs[0].notes), Lines{"t|0 f1 is NaN in r.json, so it is left out"});
}

}  // namespace
}  // namespace nb
