#include <gtest/gtest.h>

#include "results/import/formats.hpp"
#include "tests/results/import/foreign_text.hpp"

namespace nb {
namespace {

using test::read_texts;
using Lines = std::vector<std::string>;

TEST(Bigcode, TotalsWithTheArgumentsOfTheProgram) {
  const auto results = read_texts({{"evaluation_results.json", R"({
    "humaneval": {"pass@1": 0.152, "pass@10": 0.24},
    "pal-gsm8k-greedy": {"accuracy": 0.31, "num_failed_execution": 12},
    "config": {"model": "bigcode/starcoder", "revision": null, "n_samples": 20, "temperature": 0.2,
               "precision": "bf16", "limit": null, "allow_code_execution": true,
               "metric_output_path": "evaluation_results.json"}})"}});
  ASSERT_TRUE(results) << results.error().message;
  const ForeignRun& run = results->runs.at(0);
  EXPECT_EQ(run.harness, "bigcode-evaluation-harness");
  EXPECT_EQ(run.model, "bigcode/starcoder");
  EXPECT_EQ(test::series_lines(run),
            (Lines{"humaneval/pass@1 0.152 0 primary", "humaneval/pass@10 0.24 0",
                   "pal-gsm8k-greedy/accuracy 0.31 0 primary",
                   "pal-gsm8k-greedy/num_failed_execution 12 0"}));
  EXPECT_EQ(run.series[0].direction, Direction::kHigher);
  EXPECT_EQ(run.series[3].direction, Direction::kNone);
  EXPECT_EQ(run.provenance.at("temperature"), "0.2");
  EXPECT_EQ(run.provenance.at("n_samples"), "20");
  EXPECT_FALSE(run.provenance.contains("limit"));
}

TEST(Bigcode, DamagedFilesAreNamed) {
  const auto error = [](const std::string& text) {
    const auto results = read_texts({{"r.json", text}}, "r.json");
    return results ? "" : results.error().message;
  };
  EXPECT_EQ(error(R"({"humaneval": {"pass@1": 0.1}, "config": {"metric_output_path": "r.json"}})"),
            "r.json: /config/model is missing");
  EXPECT_EQ(error(R"({"humaneval": 0.1, "config": {"model": "m", "metric_output_path": "r"}})"),
            "r.json: holds no scores");
}

}  // namespace
}  // namespace nb
