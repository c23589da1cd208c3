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

std::string program(const std::string& task, bool passed, const std::string& result) {
  return fmt::format(R"({{"task_id": "{}", "completion": "x", "result": "{}", "passed": {}}})"
                     "\n",
                     task, result, passed);
}

TEST(EvalPlus, HumanEvalLinesAreSamplesOfTheirProblems) {
  const auto results = read_texts(
      {{"org--a_vllm_temp_0.8.jsonl_results.jsonl",
        program("HumanEval/0", true, "passed") + program("HumanEval/10", false, "timed out") +
            program("HumanEval/0", false, "failed: AssertionError") +
            program("HumanEval/10", false, "timed out")}});
  ASSERT_TRUE(results) << results.error().message;
  const ForeignRun& run = results->runs.at(0);
  EXPECT_EQ(run.harness, "human-eval");
  EXPECT_EQ(run.model, "org/a");
  EXPECT_EQ(run.provenance,
            (std::map<std::string, std::string>{{"backend", "vllm"}, {"temperature", "0.8"}}));
  EXPECT_EQ(series_lines(run), Lines{"humaneval/pass@1 0.25 2 primary"});
  const ForeignSeries& series = run.series[0];
  EXPECT_EQ(series.items[0].sample_ok, (std::vector<int>{1, 0}));
  EXPECT_EQ(series.items[1].reason, "timeout");
  EXPECT_EQ(series.must_match.at("samples"), "2");
}

// Half of the problems failed, and the gate said that they could not be scored.
TEST(EvalPlus, AFailedProgramIsAWrongAnswerNotAnUnscoredOne) {
  const auto results =
      read_texts({{"r.jsonl", program("HumanEval/0", false, "failed: AssertionError") +
                                  program("HumanEval/1", false, "timed out")}});
  ASSERT_TRUE(results) << results.error().message;
  const PackedItems& items = results->runs.at(0).series.at(0).items;
  EXPECT_EQ(items[0].reason, "");
  EXPECT_EQ(items[1].reason, "timeout");
}

TEST(EvalPlus, PassAt10IsTheUnbiasedEstimate) {
  // 12 samples, 3 and 0 of them right: 1 − C(9,10)/C(12,10) = 1 and 0; 12 with 1: 1 −
  // C(11,10)/C(12,10).
  std::string lines;
  for (int i = 0; i < 12; ++i) {
    lines += program("HumanEval/0", i < 3, "r");
    lines += program("HumanEval/1", false, "r");
    lines += program("HumanEval/2", i == 5, "r");
  }
  const auto results = read_texts({{"m/samples.jsonl_results.jsonl", lines}});
  ASSERT_TRUE(results) << results.error().message;
  const ForeignRun& run = results->runs.at(0);
  EXPECT_EQ(run.model, "");  // a folder of the user's
  EXPECT_EQ(run.label, "m");
  ASSERT_EQ(run.series.size(), 2u);
  EXPECT_EQ(run.series[1].name.metric, "pass@10");
  EXPECT_FALSE(run.series[1].primary);
  EXPECT_EQ(run.series[1].must_match.at("samples"), "12");
  ASSERT_EQ(run.series[1].items.size(), 3u);
  EXPECT_EQ(run.series[1].items[0].value, 1.0);
  EXPECT_EQ(run.series[1].items[1].value, 0.0);
  EXPECT_NEAR(*run.series[1].items[2].value, 1.0 - 11.0 / 66.0, 1e-12);
}

TEST(EvalPlus, PlusCountsOnlyWhereBasePassesToo) {
  const auto results = read_texts({{"a_vllm_temp_0.0.eval_results.json",
                                    R"({"date": "2024-10-01 10:00", "hash": "fe58", "eval": {
          "HumanEval/0": [{"task_id": "HumanEval/0", "solution": "s", "base_status": "pass", "plus_status": "fail"}],
          "HumanEval/1": [{"task_id": "HumanEval/1", "solution": "s", "base_status": "fail", "plus_status": "pass"}],
          "HumanEval/2": [{"task_id": "HumanEval/2", "solution": "s", "base_status": "pass", "plus_status": "pass"}],
          "HumanEval/3": [{"task_id": "HumanEval/3", "solution": "s", "base_status": "pass", "plus_status": "timeout"}]},
          "pass_at_k": {"base": {"pass@1": 0.75}, "plus": {"pass@1": 0.25}}})"}});
  ASSERT_TRUE(results) << results.error().message;
  const ForeignRun& run = results->runs.at(0);
  EXPECT_EQ(run.model, "a");
  EXPECT_EQ(series_lines(run),
            (Lines{"humaneval/pass@1 0.75 4 primary", "humaneval+/pass@1 0.25 4 primary"}));
  EXPECT_EQ(run.series[0].reported, 0.75);
  EXPECT_EQ(run.series[1].reported, 0.25);
  EXPECT_EQ(run.series[0].must_match.at("version"), "fe58");
  EXPECT_EQ(run.series[1].items[3].reason, "timeout");
}

TEST(EvalPlus, ResultsBefore03AndBaseAlone) {
  const auto old = read_texts({{"b/eval_results.json",
                                R"({"hash": "h", "eval": {"Mbpp/2": {"nfiles": 2,
          "base": [["success", [true]], ["failed", [false]]], "plus": [["success", [true]], ["timed out", []]]}}})"}});
  ASSERT_TRUE(old) << old.error().message;
  EXPECT_EQ(old->runs.at(0).model, "");
  EXPECT_EQ(series_lines(old->runs[0]),
            (Lines{"mbpp/pass@1 0.5 1 primary", "mbpp+/pass@1 0.5 1 primary"}));
  const auto base = read_texts(
      {{"b/eval_results.json",
        R"({"hash": "h", "eval": {"Mbpp/2": [{"base_status": "pass", "plus_status": null}]}})"}});
  ASSERT_TRUE(base) << base.error().message;
  EXPECT_EQ(series_lines(base->runs.at(0)), Lines{"mbpp/pass@1 1 1 primary"});
}

TEST(EvalPlus, BadResultsAreRefusedWithTheirPlace) {
  const auto refusal = [](const std::string& name, const std::string& text) {
    const auto results = read_texts({{name, text}});
    return results ? std::string() : results.error().message;
  };
  EXPECT_EQ(refusal("r.jsonl", R"({"task_id": "HumanEval/0", "passed": 1})"),
            "r.jsonl:1: a result has a task_id, and passed, which is true or false");
  EXPECT_EQ(refusal("r.json", R"({"hash": "h", "eval": {"Mbpp/2": [{"base_status": "maybe"}]}})"),
            "r.json: /eval/Mbpp/2: status \"maybe\"; known are pass, fail, timeout");
  EXPECT_EQ(refusal("r.json", R"({"hash": "h", "eval": {"Mbpp/2": [{"base_)"),
            "r.json: byte 41: the text ends in the middle of \"eval\"; is the file cut off?");
  EXPECT_EQ(refusal("r.json", R"({"a": {"link": "x", "pass@1": {"humaneval": 142}}})"),
            "r.json: /a/pass@1/humaneval: a percentage is expected");
  EXPECT_EQ(
      refusal("r.json",
              R"({"date": "d", "config": {}, "summary": {}, "eval": {"Mbpp/2": {"dps": "fast"}}})"),
      "r.json: /eval/Mbpp/2: dps is no number");
}

TEST(EvalPlus, RealLeaderboardHasOneRunAModel) {
  NB_NEEDS_IMPORTS();
  const auto path = test::imports_dir() / "evalplus/evalplus__evalplus.github.io/results.json";
  const auto results = read_foreign(path);
  ASSERT_TRUE(results) << results.error().message;
  const auto table = read_json(path);
  ASSERT_TRUE(table);
  EXPECT_EQ(results->runs.size(), table->size());
  for (const ForeignRun& run : results->runs) {
    const Json& scores = table->at(run.model).at("pass@1");
    std::size_t stated = 0;
    for (const auto& [dataset, score] : scores.items()) stated += score.is_number() ? 1 : 0;
    EXPECT_EQ(run.series.size(), stated) << run.model;
    for (const ForeignSeries& series : run.series)
      EXPECT_NEAR(*series.reported * 100, scores.at(series.name.task).get<double>(), 1e-9);
  }
}

TEST(EvalPlus, RealEvalPerfFilesPairByProblem) {
  NB_NEEDS_IMPORTS();
  const auto files = test::expected("files", "evalplus/");
  ASSERT_EQ(files.size(), 2u);
  for (const Json& file : files) {
    SCOPED_TRACE(file.at("file"));
    const auto results = read_foreign(test::imports_dir() / file.at("file").get<std::string>());
    ASSERT_TRUE(results) << results.error().message;
    const ForeignRun& run = results->runs.at(0);
    EXPECT_EQ(run.provenance.at("backend"), "vllm");
    ASSERT_EQ(run.series.size(), 3u);
    for (const ForeignSeries& series : run.series) {
      const double scale = series.name.metric == "pass@1" ? 100 : 1;
      const double stated = file.at("summary").at(series.name.metric);
      EXPECT_NEAR(*series.reported * scale, stated, 1e-9);
      EXPECT_NEAR(test::mean_of(series) * scale, stated, 1e-9) << series.name.metric;
      EXPECT_EQ(series.items.size(), scale == 100
                                         ? file.at("tasks_with_pass1").get<std::size_t>()
                                         : file.at("tasks").get<std::size_t>() -
                                               file.at("tasks_without_dps").get<std::size_t>());
    }
  }
  const auto pairs = test::expected("pairs", "evalplus/");
  ASSERT_EQ(pairs.size(), 1u);
  const auto a = test::series_of(pairs[0].at("a").at("files"), "evalperf", "pass@1");
  const auto b = test::series_of(pairs[0].at("b").at("files"), "evalperf", "pass@1");
  ASSERT_TRUE(a && b);
  std::map<std::string, double> of_a;
  for (const ItemRecord& item : a->items) of_a[item.id] = *item.value;
  int a_higher = 0, b_higher = 0, equal = 0;
  for (const ItemRecord& item : b->items) {
    const auto at = of_a.find(item.id);
    if (at == of_a.end()) continue;
    a_higher += at->second > *item.value;
    b_higher += at->second < *item.value;
    equal += at->second == *item.value;
  }
  EXPECT_EQ(a_higher, pairs[0].at("a_higher"));
  EXPECT_EQ(b_higher, pairs[0].at("b_higher"));
  EXPECT_EQ(equal, pairs[0].at("equal"));
  EXPECT_NEAR(test::mean_of(*a) * 100, pairs[0].at("mean_a").get<double>(), 1e-9);
}

}  // namespace
}  // namespace nb
