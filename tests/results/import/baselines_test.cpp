#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "results/import/to_records.hpp"
#include "tests/results/import/foreign_text.hpp"

namespace nb::test {
namespace {

using Lines = std::vector<std::string>;

constexpr const char* kNightly =
    "_benchmarks: &benchmarks\n  acc:\n    case_type: accuracy\n"
    "    dataset_conf: gsm8k/gsm8k_gen_0_shot\n    baseline: 96\n    threshold: 10\n"
    "  perf:\n    case_type: performance\n    dataset_conf: gsm8k/gsm8k_perf\n"
    "    baseline: 1250.0\n    threshold: 0.97\n"
    "test_cases:\n  - name: \"a\"\n    model: \"org/m-W8A8\"\n    benchmarks:\n"
    "      <<: *benchmarks\n";

TEST(Baselines, ANightlysHaveTheirTolerances) {
  const auto results = read_texts({{"m.yaml", kNightly}});
  ASSERT_TRUE(results) << results.error().message;
  ASSERT_EQ(results->runs.size(), 1U);
  const ForeignRun& run = results->runs[0];
  EXPECT_EQ(run.model, "org/m-W8A8");
  EXPECT_EQ(series_lines(run),
            (Lines{"gsm8k/accuracy 0.96 0 primary", "gsm8k/output_throughput 1250 0"}));
  EXPECT_DOUBLE_EQ(*run.series[0].tolerance, .1);
  EXPECT_NEAR(*run.series[1].tolerance, 37.5, 1e-9);
  EXPECT_EQ(texts_of(run.notes), Lines{"its values are expectations of a test, not measured"});
  const RunRecords records = records_of(*results);
  EXPECT_EQ(
      (*records.records[0].record.settings)["imported"]["series"]["gsm8k/accuracy"]["tolerance"],
      .1);
}

TEST(Baselines, OpenCompassNamesDatasetAndMetricInOne) {
  const auto results =
      read_texts({{"oc_score_baseline.yaml",
                   "qwen:\n    demo_gsm8k_accuracy: 78.12\n"
                   "    race-middle_accuracy: 90.46\n\nother:\n"
                   "    openai_humaneval_humaneval_pass@1: 65.85\n"
                   "    GPQA_diamond_accuracy: 40\n    mmlu_naive_average: 61.5\n"}});
  ASSERT_TRUE(results) << results.error().message;
  ASSERT_EQ(results->runs.size(), 2U);
  const ForeignRun &other = results->runs[0], &qwen = results->runs[1];
  EXPECT_EQ(series_lines(qwen), (Lines{"demo_gsm8k/accuracy 0.7812 0 primary",
                                       "race-middle/accuracy 0.9046 0 primary"}));
  EXPECT_DOUBLE_EQ(*qwen.series[0].tolerance, .032);
  EXPECT_EQ(series_lines(other),
            (Lines{"openai_humaneval/humaneval_pass@1 0.6585 0 primary",
                   "GPQA_diamond/accuracy 0.4 0 primary", "mmlu/naive_average 0.615 0 primary"}));
  EXPECT_DOUBLE_EQ(*other.series[1].tolerance, .05);
}

TEST(Baselines, MistakesAreNamedWithTheirLine) {
  std::string text = kNightly;
  text += "      more: [\n";
  EXPECT_TRUE(read_texts({{"m.yaml", text}}).error().message.starts_with("m.yaml:"));
  EXPECT_EQ(
      read_texts({{"b.yaml", "m:\n  gsm8k_accuracy: 70\n  gsm8k_accuracy: 71\n"}}).error().message,
      "b.yaml:3: gsm8k_accuracy stands twice");
}

}  // namespace
}  // namespace nb::test
