#include <fmt/format.h>
#include <gtest/gtest.h>

#include "results/import/formats.hpp"
#include "tests/results/import/expected.hpp"
#include "tests/results/import/foreign_text.hpp"

namespace nb {
namespace {

using test::read_texts;
using test::series_lines;
using Lines = std::vector<std::string>;

constexpr const char* kRunSpec =
    R"({"name": "qa:subject=x,model=org_a,k=2", "scenario_spec": {}, "adapter_spec": {
        "method": "generation", "model": "org/a", "model_deployment": "vllm/a",
        "max_train_instances": 5, "max_eval_instances": 3, "temperature": 0.0}})";

std::string stat(const std::string& name, double sum, int count,
                 const std::string& perturbation = "") {
  return fmt::format(R"({{"name": {{"name": "{}", "split": "test"{}}}, "count": {}, "sum": {}}})",
                     name, perturbation.empty() ? "" : ", \"perturbation\": " + perturbation, count,
                     sum);
}
std::string instance(const std::string& id, int trial, const std::string& stats,
                     const std::string& perturbation = "") {
  return fmt::format(R"({{"instance_id": "{}", {}"train_trial_index": {}, "stats": [{}]}})", id,
                     perturbation.empty() ? "" : "\"perturbation\": " + perturbation + ", ", trial,
                     stats);
}
std::string state(const std::string& id, const std::string& question,
                  const std::string& perturbation = "") {
  return fmt::format(
      R"({{"instance": {{"input": {{"text": "{}"}}, "references": [{{"output": {{"text": "no"}}, "tags": []}},
          {{"output": {{"text": "yes"}}, "tags": ["correct"]}}], "split": "test", "id": "{}"{}}},
          "train_trial_index": 0, "request": {{"prompt": "Q: {}"}},
          "result": {{"completions": [{{"text": " yes"}}]}}}})",
      question, id, perturbation.empty() ? "" : ", \"perturbation\": " + perturbation, question);
}

constexpr const char* kTypos = R"({"name": "typos", "robustness": true, "prob": 0.1})";
constexpr const char* kWorst =
    R"({"name": "typos", "robustness": true, "prob": 0.1, "computed_on": "worst"})";

TEST(Helm, SumsCountsSplitsAndPerturbations) {
  const std::string rows =
      "[" +
      instance("id1", 0,
               stat("num_bytes", 9, 1) + "," + stat("exact_match", 1, 1) + "," +
                   stat("f1_score", 3, 4)) +
      "," + instance("id1", 1, stat("exact_match", 0, 1) + "," + stat("f1_score", 0, 0)) + "," +
      instance("id1", 0,
               stat("exact_match", 0, 1, kTypos) + "," + stat("exact_match", 0, 1, kWorst),
               kTypos) +
      "," + instance("id2", 0, stat("exact_match", 1, 1) + "," + stat("f1_score", 0.5, 1)) + "]";
  const auto results = read_texts(
      {{"r/run_spec.json", kRunSpec},
       {"r/scenario.json", R"({"name": "qa", "tags": [], "definition_path": "x"})"},
       {"r/per_instance_stats.json", rows},
       {"r/scenario_state.json", R"({"adapter_spec": {}, "request_states": [)" +
                                     state("id1", "One?") + "," + state("id1", "Oen?", kTypos) +
                                     "," + state("id2", "Two?") + "]}"},
       {"r/stats.json", "[" + stat("num_bytes", 9, 1) + "," + stat("exact_match", 0.75, 1) + "," +
                            stat("exact_match@5", 2, 2) + "]"}});
  ASSERT_TRUE(results) << results.error().message;
  ASSERT_EQ(results->runs.size(), 1u);
  const ForeignRun& run = results->runs[0];
  EXPECT_EQ(run.model, "org/a");
  EXPECT_EQ(series_lines(run), (Lines{"qa:subject=x,k=2:test/exact_match 0.75 2",
                                      "qa:subject=x,k=2:test/f1_score 0.625 2 primary",
                                      "qa:subject=x,k=2:test typos prob=0.1/exact_match 0 1",
                                      "qa:subject=x,k=2:test typos prob=0.1 worst/exact_match 0 1",
                                      "qa:subject=x,k=2:test/exact_match@5 1 0"}));
  const ForeignSeries& match = run.series[0];
  EXPECT_EQ(match.reported, 0.75);
  EXPECT_EQ(match.items[0].value, 0.5);
  EXPECT_EQ(match.items[0].id, content_hash("One?\nno\nyes\nyes"));
  EXPECT_EQ(match.items[0].prompt_hash, content_hash("Q: One?"));
  EXPECT_EQ(match.items[0].gold, "yes");
  EXPECT_EQ(run.series[2].items[0].id, content_hash("Oen?\nno\nyes\nyes"));
  EXPECT_EQ(match.must_match,
            (std::map<std::string, std::string>{{"samples", "2"}, {"shots", "5"}}));
  EXPECT_EQ(run.provenance.at("backend"), "vllm/a");
  EXPECT_EQ(run.provenance.at("limit of qa:subject=x,k=2"), "3");
  EXPECT_EQ(texts_of(results->ignored),
            Lines{"r/per_instance_stats.json: statistics that are no scores: num_bytes"});
}

TEST(Helm, WithoutARunSpecTheFolderNamesModelAndTask) {
  const auto results = read_texts({{"mmlu:subject=a,model=org_b/per_instance_stats.json",
                                    "[" + instance("id7", 0, stat("exact_match", 1, 1)) + "]"}});
  ASSERT_TRUE(results) << results.error().message;
  const ForeignRun& run = results->runs.at(0);
  EXPECT_EQ(run.model, "org_b");
  EXPECT_EQ(series_lines(run), Lines{"mmlu:subject=a:test/exact_match 1 1 primary"});
  EXPECT_EQ(run.series[0].items[0].source_id, "id7");
}

TEST(Helm, BadStatisticsAreRefusedWithTheirPlace) {
  const auto refusal = [](const std::string& name, const std::string& text) {
    const auto results = read_texts({{"r/" + name, text}}, "r/" + name);
    return results ? std::string() : results.error().message;
  };
  const std::string one = instance("id1", 0, stat("exact_match", 1, 1));
  EXPECT_EQ(
      refusal("per_instance_stats.json", "[" + one + "," + one + "]"),
      "r/per_instance_stats.json: /1: item id1 of r:test/exact_match occurs twice; is the same "
      "file there twice, or are two runs in one?");
  EXPECT_EQ(
      refusal(
          "per_instance_stats.json",
          "[" + instance("id1", 0, R"({"name": {"name": "f1"}, "count": 1, "sum": NaN})") + "]"),
      "r/per_instance_stats.json: /0: the sum of f1 is \"NaN\"; a finite number is expected");
  const std::string cut = "[" + one + "," + one.substr(0, 40);
  EXPECT_EQ(refusal("per_instance_stats.json", cut),
            fmt::format("r/per_instance_stats.json: byte {}: the text ends in the middle of "
                        "\"1\"; is the file cut off?",
                        cut.size()));
  EXPECT_EQ(refusal("stats.json", R"([{"name": {"name": "f1"}, "count": "x", "sum": 1}])"),
            "r/stats.json: /0: a statistic has a name and a count");
  EXPECT_EQ(refusal("run_spec.json", kRunSpec), "r/run_spec.json: holds no scores");
}

TEST(Helm, RealRunsHaveTheirMeans) {
  NB_NEEDS_IMPORTS();
  const auto files = test::expected("files", "helm/");
  ASSERT_EQ(files.size(), 2u);
  for (const Json& file : files) {
    const std::string path = file.at("file");
    SCOPED_TRACE(path);
    const auto results = read_foreign((test::imports_dir() / path).parent_path());
    ASSERT_TRUE(results) << results.error().message;
    ASSERT_EQ(results->runs.size(), 1u);
    const ForeignRun& run = results->runs[0];
    EXPECT_TRUE(run.model == "eleutherai/pythia-1b-v0" || run.model == "openai/gpt2") << run.model;
    for (const auto& [metric, mean] : file.at("means").items()) {
      // The facts are over all splits.
      std::size_t items = 0;
      double sum = 0;
      for (const ForeignSeries& series : run.series) {
        if (series.name.metric != metric || series.items.empty()) continue;
        EXPECT_TRUE(file.at("splits").contains(series.name.filter)) << series.name.filter;
        items += series.items.size();
        sum += test::mean_of(series) * static_cast<double>(series.items.size());
        ASSERT_TRUE(series.reported);
        EXPECT_NEAR(*series.reported, test::mean_of(series), 1e-9);
      }
      EXPECT_EQ(items, file.at("instances")) << metric;
      EXPECT_NEAR(sum / static_cast<double>(items), mean.get<double>(), 1e-12) << metric;
    }
  }
}

}  // namespace
}  // namespace nb
