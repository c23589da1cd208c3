#include "harness/run/preflight.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "harness/base/fs.hpp"
#include "harness/suite/load.hpp"
#include "results/store/store.hpp"
#include "tests/support/temp_dir.hpp"

namespace nb {
namespace {

Plan plan_of(const std::string& text, const RunOptions& options) {
  auto suite = parse_suite(Json::parse(text), "s.json");
  EXPECT_TRUE(suite) << suite.error().message;
  auto plan = make_plan(*suite, {options.data_dir, {}}, "s.json");
  EXPECT_TRUE(plan) << plan.error().message;
  return std::move(*plan);
}

std::string problem_of(const std::string& suite, const RunOptions& options) {
  const Plan plan = plan_of(suite, options);
  const Forecast expected = forecast(plan, options);
  const auto ready = preflight(plan, options, expected);
  return ready ? "" : ready.error().message;
}

constexpr const char* kPredictions =
    R"({"name": "s", "devices": ["ascend_910b3"], "predictions": [{"depth": 20}]})";

TEST(Preflight, CreatesNothing) {
  const test::TempDir folder;
  RunOptions options;
  options.results_dir = folder / "deep/results";
  EXPECT_EQ(problem_of(kPredictions, options), "");
  EXPECT_TRUE(fs::is_empty(folder.path()));
}

TEST(Preflight, MissingTextNamesTheFile) {
  const test::TempDir folder;
  RunOptions options;
  options.results_dir = folder.path();
  options.data_dir = folder / "no_data";
  const std::string problem = problem_of(
      R"({"name": "s", "devices": ["tiny"], "corpus": {"text": {"sources": ["text/english_novels"]}},
          "predictions": [{"depth": 2}]})",
      options);
  EXPECT_NE(problem.find("english_novels"), std::string::npos) << problem;
}

TEST(Preflight, ResultsFolderThatIsAFileIsFound) {
  const test::TempDir folder;
  ASSERT_TRUE(write_file(folder / "file", "x"));
  RunOptions options;
  options.results_dir = folder / "file/results";
  EXPECT_NE(problem_of(kPredictions, options).find("not a folder"), std::string::npos);
}

TEST(Preflight, ModelLargerThanMemoryIsFound) {
  const test::TempDir folder;
  RunOptions options;
  options.results_dir = folder.path();
  const std::string problem = problem_of(
      R"({"name": "s", "devices": ["ascend_910b3"], "corpus": {"microworld": {"documents": 50}},
          "tokenizer": {"vocab_size": 300},
          "stages": {"base": {"depth": 128, "sequence_len": 64, "device_batch_size": 1,
                              "total_batch_tokens": 64, "iterations": 1}}})",
      options);
  // Either this computer's disk or its memory is too small for 75 G parameters.
  EXPECT_TRUE(problem.find("memory") != std::string::npos ||
              problem.find("disk") != std::string::npos)
      << problem;
}

TEST(Preflight, ALineBreakInTheResultsFolderIsOneSentence) {
  const test::TempDir folder;
  RunOptions options;
  options.results_dir = folder / "a\nb";
  const std::string problem = problem_of(kPredictions, options);
  EXPECT_NE(problem.find("a\\nb\" has a line break in its name; give another --results-dir"),
            std::string::npos)
      << problem;
  EXPECT_EQ(problem.find('\n'), std::string::npos);
}

// What an interrupted run left was asked for once more.
TEST(Forecast, OfAResumedRunSaysSoAndCountsWhatIsOnTheDiskAlready) {
  const test::TempDir folder;
  RunOptions options;
  options.results_dir = folder.path();
  const Plan plan = plan_of(kPredictions, options);
  const Forecast before = forecast(plan, options);
  EXPECT_EQ(forecast_text(before).find("resumed"), std::string::npos);
  const Node& node = plan.nodes.front();
  const fs::path partial = node_folder(options.results_dir, plan.suite, node.name, node.key);
  ASSERT_TRUE(begin_work(partial, NodeCondition::kAbsent));
  ASSERT_TRUE(write_file(partial / "checkpoints/step", std::string(5000, 'x')));
  Forecast resumed = forecast(plan, options);
  EXPECT_EQ(resumed.resumed, 1);
  EXPECT_EQ(resumed.disk_bytes, before.disk_bytes - 5000);
  EXPECT_NE(forecast_text(resumed).find("1 to run (1 resumed), 0 reused"), std::string::npos)
      << forecast_text(resumed);
  ASSERT_TRUE(write_file(partial / "checkpoints/large", std::string(before.disk_bytes, 'x')));
  EXPECT_EQ(forecast(plan, options).disk_bytes, 0u) << "never less than nothing";
  options.fresh = true;
  EXPECT_EQ(forecast(plan, options).disk_bytes, before.disk_bytes);
}

TEST(Forecast, CountsWhatRunsAndAddsItUp) {
  const test::TempDir folder;
  RunOptions options;
  options.results_dir = folder.path();
  const Plan plan = plan_of(kPredictions, options);
  const Forecast expected = forecast(plan, options);
  EXPECT_EQ(expected.to_run, 1);
  EXPECT_EQ(expected.reused, 0);
  EXPECT_GT(expected.time_s, 0);
  EXPECT_GT(expected.disk_bytes, 0u);
}

}  // namespace
}  // namespace nb
