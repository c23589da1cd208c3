#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "harness/base/json_io.hpp"
#include "results/import/formats.hpp"
#include "tests/results/import/foreign_text.hpp"
#include "tests/support/data_dir.hpp"

namespace nb {
namespace {

using test::read_texts;
using test::series_lines;
using Lines = std::vector<std::string>;

TEST(Dclm, AccuraciesPerplexitiesAndComposites) {
  const auto results = read_texts(
      {{"evaluation_c4-open_lm_1b_heavy.json",
        R"({"name": "heavy", "model": "open_lm_1b", "creation_date": "2024_01_30-00_20_14",
          "eval_metrics": {"perplexity": 2.7, "downstream_perpexity": {"copa": 2.5},
                           "icl": {"copa": 0.71, "squad": "N/A due to missing tasks"}},
          "missing tasks": "['squad']", "Core": 0.2, "Core_v1": 0.3, "Core_v2": 0.2, "Extended_v2": 0.1,
          "Extended_v1": "N/A due to missing tasks", "eval_version": "v2"})"},
       {"evaluation_Qwen_a.json",
        R"({"name": "heavy", "model": "Qwen/a", "creation_date": "x", "eval_metrics": {"icl": {"copa": 1}},
          "low_variance_datasets_centered": 0.5})"}});
  ASSERT_TRUE(results) << results.error().message;
  ASSERT_EQ(results->runs.size(), 2u);
  EXPECT_EQ(results->runs[0].model, "Qwen/a");
  EXPECT_EQ(series_lines(results->runs[0]),
            (Lines{"copa/accuracy 1 0 primary", "CORE/centered 0.5 0 primary"}));
  const ForeignRun& run = results->runs[1];
  EXPECT_EQ(run.model, "c4-open_lm_1b");
  EXPECT_EQ(run.provenance.at("architecture"), "open_lm_1b");
  EXPECT_EQ(series_lines(run), (Lines{"copa/accuracy 0.71 0 primary", "copa/perplexity 2.5 0",
                                      "CORE:v2/centered 0.2 0 primary", "CORE:v1/centered 0.3 0",
                                      "Extended:v2/centered 0.1 0"}));
  EXPECT_EQ(run.series[1].direction, Direction::kLower);
  EXPECT_EQ(texts_of(run.notes), Lines{"tasks that the file says are missing: ['squad']"});
}

TEST(Dclm, BadAccuraciesAreRefusedWithTheirPlace) {
  const auto refusal = [](const std::string& icl) {
    const auto results =
        read_texts({{"a.json", R"({"creation_date": "x", "eval_metrics": {"icl": )" + icl + "}}"}});
    return results ? std::string() : results.error().message;
  };
  EXPECT_EQ(refusal(R"({"copa": 71})"), "a.json: /eval_metrics/icl/copa: 71 is no accuracy");
  EXPECT_EQ(refusal("{}"), "a.json: /eval_metrics/icl: the accuracies by task are missing");
}

TEST(Dclm, RealFilesAreRunsOfTheirOwnWithBothCores) {
  NB_NEEDS_DATA();
  const auto folder = test::data_dir() / "core/dclm_evals";
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << "skipped: no data";
  const auto results = read_foreign(folder);
  ASSERT_TRUE(results) << results.error().message;
  EXPECT_EQ(results->runs.size(), results->files.size());
  for (const ForeignRun& run : results->runs) {
    ASSERT_EQ(run.files.size(), 1u) << run.model;
    SCOPED_TRACE(run.files[0]);
    const auto json = read_json(run.files[0]);
    ASSERT_TRUE(json);
    std::size_t tasks = 0;
    double v1 = -1, v2 = -1;
    for (const ForeignSeries& series : run.series) {
      ASSERT_TRUE(series.reported);
      tasks += series.name.metric == "accuracy" ? 1 : 0;
      if (series.name == SeriesName{"CORE", "v1", "centered"}) v1 = *series.reported;
      if (series.name == SeriesName{"CORE", "v2", "centered"}) v2 = *series.reported;
    }
    EXPECT_EQ(tasks, json->at("eval_metrics").at("icl").size());
    EXPECT_EQ(v1, json->at("Core_v1").get<double>());
    EXPECT_EQ(v2, json->at("Core_v2").get<double>());
  }
}

}  // namespace
}  // namespace nb
