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

std::string review(int index, const std::string& value, const std::string& more = "") {
  return fmt::format(
      R"({{"index": {}, "input": "**User**: \nWhat is {}?", "target": "{}", "sample_score": {{"score": )"
      R"({{"value": {}, "extracted_prediction": "{}", "prediction": "It is {}."{}}}, )"
      R"("sample_id": {}, "group_id": {}}}}})"
      "\n",
      index, index, index, value, index, index, more, index, index);
}

const std::string kMathReport =
    R"({"name": "a@math_5", "dataset_name": "math_5", "model_name": "org/a",
  "score": 0.6667, "metrics": [
    {"name": "mean_acc", "num": 3, "score": 0.6667, "macro_score": 0.75, "categories": [
      {"name": ["default"], "num": 3, "score": 0.6667, "macro_score": 0.75, "subsets": [
        {"name": "Level 1", "score": 0.5, "num": 2}, {"name": "Level 2", "score": 1.0, "num": 1}]}]}]})";

TEST(Evalscope, ItemsAreNamedBySubsetAndIndexAndReportsNameTheDataset) {
  const auto results =
      read_texts({{"reviews/a/math_5_Level 1.jsonl",
                   review(1, R"({"acc": 1.0})") + review(0, R"({"acc": 0.0})")},
                  {"reviews/a/math_5_Level 2.jsonl", review(0, R"({"acc": 1})")},
                  {"predictions/a/math_5_Level 2.jsonl",
                   R"({"index": 0, "model": "a", "model_output": {"choices": []}})"},
                  {"reports/a/math_5.json", kMathReport}});
  ASSERT_TRUE(results) << results.error().message;
  ASSERT_EQ(results->runs.size(), 1u);
  const ForeignRun& run = results->runs[0];
  EXPECT_EQ(run.model, "org/a");
  EXPECT_EQ(series_lines(run), (Lines{"math_5/acc 0.666667 3 primary", "math_5:Level 1/acc 0.5 2",
                                      "math_5:Level 2/acc 1 1"}));
  const ForeignSeries& all = run.series[0];
  EXPECT_EQ(all.reported, 0.6667);
  EXPECT_EQ(all.reported_n, 3);
  ASSERT_EQ(all.items.size(), 3u);
  EXPECT_EQ(all.items[0].source_id, "Level 1/0");
  EXPECT_EQ(all.items[1].source_id, "Level 1/1");
  EXPECT_EQ(all.items[1].id, content_hash("What is 1?\n1"));
  EXPECT_EQ(all.items[1].prediction, "1");
  EXPECT_EQ(
      texts_of(results->ignored),
      Lines{"predictions/a/math_5_Level 2.jsonl: evalscope's answers before they were scored; "
            "reviews have both"});
}

TEST(Evalscope, MapsOfMetricsHaveTheirHeadlineAndNullIsAbsent) {
  const auto results = read_texts(
      {{"reviews/b/if_default.jsonl",
        review(0, R"({"loose": 1, "strict": 0})", R"(, "main_score_name": "strict")") +
            review(1, R"({"loose": 0.5, "strict": null})", R"(, "main_score_name": "strict")") +
            review(2, "{}")}});
  ASSERT_TRUE(results) << results.error().message;
  const ForeignRun& run = results->runs.at(0);
  EXPECT_EQ(run.model, "b");
  EXPECT_EQ(series_lines(run), (Lines{"if/loose 0.75 2", "if/strict 0 1 primary"}));
  EXPECT_EQ(texts_of(run.notes), Lines{"if: 1 of 3 reviews of subset default have no score"});
}

TEST(Evalscope, RepeatsOfAQuestionAreOneItemAndMessagesAreTheSameQuestion) {
  const auto row = [](int sample, int group, int score) {
    return fmt::format(
        R"({{"index": {}, "messages": [{{"role": "user", "content": [{{"type": "text", "text": "Why?"}}]}},
        {{"role": "assistant", "content": "x"}}], "target": "t", "sample_score": {{"score": {{"value": {{"acc": {}}}}},
        "sample_id": {}, "group_id": {}}}}})",
        sample, score, sample, group);
  };
  const auto on_one_line = [](std::string text) {
    std::erase(text, '\n');
    return text + "\n";
  };
  const auto results = read_texts(
      {{"reviews/m/q_default.jsonl", on_one_line(row(1, 0, 1)) + on_one_line(row(0, 0, 0))}});
  ASSERT_TRUE(results) << results.error().message;
  const ForeignSeries& series = results->runs.at(0).series.at(0);
  ASSERT_EQ(series.items.size(), 1u);
  EXPECT_EQ(series.items[0].value, 0.5);
  EXPECT_EQ(series.items[0].id, content_hash("Why?\nt"));
  EXPECT_EQ(series.must_match.at("samples"), "2");
}

TEST(Evalscope, RowsOfReleasesBefore1) {
  const auto results = read_texts(
      {{"reviews/m/gsm8k_main.jsonl",
        R"({"choices": [{"index": 0, "message": {"content": "5"}, "review": {"gold": "5", "pred": "5", "result": true}},)"
        R"( {"index": 1, "message": {"content": "6"}, "review": {"gold": "5", "pred": "6", "result": false}}],)"
        R"( "index": 7, "raw_input": {"question": "2+3?"}, "subset_name": "main", "reviewed": true, "review_id": "r"})"},
       {"predictions/m/gsm8k_main.jsonl",
        R"({"choices": [{"index": 0, "message": {"content": "5"}}], "index": 7, "answer_id": "a"})"},
       {"reports/m/gsm8k.json",
        R"({"dataset_name": "gsm8k", "model_name": "m", "metrics": [{"name": "AverageAccuracy", "score": 0.5, "num": 1}]})"}});
  ASSERT_TRUE(results) << results.error().message;
  const ForeignRun& run = results->runs.at(0);
  EXPECT_EQ(series_lines(run), Lines{"gsm8k/acc 0.5 1 primary"});
  EXPECT_EQ(run.series[0].items[0].source_id, "main/7");
  EXPECT_EQ(run.series[0].items[0].sample_ok, (std::vector<int>{1, 0}));
  EXPECT_EQ(run.series[0].reported, 0.5);
  EXPECT_EQ(results->ignored.size(), 1u);
}

TEST(Evalscope, ReportsOfSchema2NameTheirMetricsByIdentity) {
  const auto results =
      read_texts({{"reports/m/code.json",
                   R"({"schema_version": 2, "dataset_name": "code", "model_name": "m", "metrics": [
          {"identity": {"name": "acc", "aggregation": "pass_at_k", "dimensions": {"k": 5}}, "num": 4, "score": 0.75},
          {"identity": {"name": "acc", "aggregation": "mean", "dimensions": {}}, "num": 4, "score": 0.5}],
          "primary_metric_identity": {"name": "acc", "aggregation": "mean", "dimensions": {}}})"}});
  ASSERT_TRUE(results) << results.error().message;
  EXPECT_EQ(series_lines(results->runs.at(0)),
            (Lines{"code/acc:pass_at_k[k=5] 0.75 4", "code/acc 0.5 4 primary"}));
}

TEST(Evalscope, WhatSchema2SaysOfAMetricCounts) {
  const auto series = [](const std::string& direction, const std::string& more) {
    const auto results = read_texts(
        {{"reports/m/speech.json", fmt::format(R"({{"schema_version": 2, "dataset_name": "speech",
            "model_name": "m", "metrics": [{{"identity": {{"name": "oddness", "aggregation": "mean",
            "dimensions": {{}}}}, "num": 500, "score": 0.05, "semantics": {{"direction": "{}",
            {}}}}}]}})",
                                               direction, more)}});
    EXPECT_TRUE(results) << results.error().message;
    return results ? results->runs.at(0).series.at(0) : ForeignSeries{};
  };
  const std::string open_range = R"("raw_unit": null, "value_range": {"min": 0.0, "max": null})";
  EXPECT_EQ(series("lower_is_better", open_range).direction, Direction::kLower);
  EXPECT_FALSE(series("lower_is_better", open_range).is_share);  // 500 gives no standard error
  EXPECT_EQ(series("none", open_range).direction, Direction::kNone);
  const ForeignSeries share =
      series("higher_is_better", R"("value_range": {"min": 0.0, "max": 1.0})");
  EXPECT_EQ(share.direction, Direction::kHigher);
  EXPECT_TRUE(share.is_share);
  EXPECT_EQ(series("lower_is_better", R"("raw_unit": "s")").unit, "s");
}

TEST(Evalscope, SamplesOfAProblemAreNotProblems) {
  const auto results = read_texts({{"reports/m/olympiad.json", R"({"dataset_name": "olympiad",
      "model_name": "m", "metrics": [{"name": "mean_acc", "num": 1920, "score": 0.76},
      {"name": "mean_acc_pass@8", "num": 1920, "score": 0.86},
      {"name": "mean_acc_pass@64", "num": 1920, "score": 0.93}]})"}});
  ASSERT_TRUE(results) << results.error().message;
  const ForeignRun& run = results->runs.at(0);
  ASSERT_EQ(run.series.size(), 3u);
  for (const ForeignSeries& one : run.series) {
    EXPECT_EQ(one.reported_n, 1920);
    EXPECT_EQ(one.repeats, 64);
  }
  EXPECT_EQ(texts_of(run.notes),
            Lines{"olympiad: its report counts 1920 samples, pass@64 tells that they "
                  "are 30 problems of 64 samples each"});
  // Schema 2 counts problems for pass@k itself.
  const auto now = read_texts({{"reports/m/olympiad.json", R"({"schema_version": 2,
      "dataset_name": "olympiad", "model_name": "m", "metrics": [
      {"identity": {"name": "acc", "aggregation": "mean", "dimensions": {}}, "num": 120, "score": 0.76},
      {"identity": {"name": "acc", "aggregation": "pass_at_k", "dimensions": {"k": 4}}, "num": 30,
       "score": 0.9}]})"}});
  ASSERT_TRUE(now) << now.error().message;
  EXPECT_EQ(now->runs.at(0).series.at(0).repeats, 4);
  EXPECT_EQ(now->runs[0].series.at(1).repeats, 1);
}

std::string report_of_parts(const std::string& total, const std::string& subsets) {
  return fmt::format(
      R"({{"dataset_name": "tools", "model_name": "m", "metrics": [{{"name": "mean_acc",
      "num": 200, "score": {}, "categories": [{{"name": ["default"], "subsets": [{}]}}]}}]}})",
      total, subsets);
}

TEST(Evalscope, SubsetsWithoutAnswersAreNoZeros) {
  const std::string subsets =
      R"({"name": "A", "score": 0.4, "num": 150}, {"name": "B", "score": 0.8, "num": 50},
         {"name": "EMPTY", "score": 0.0, "num": 0})";
  const auto averaged = read_texts({{"reports/m/tools.json", report_of_parts("0.4", subsets)}});
  ASSERT_TRUE(averaged) << averaged.error().message;
  EXPECT_EQ(series_lines(averaged->runs.at(0)),
            (Lines{"tools/acc 0.5 200 primary", "tools:A/acc 0.4 150", "tools:B/acc 0.8 50"}));
  EXPECT_EQ(text_of(averaged->runs[0].series[0].contradiction), "");
  EXPECT_EQ(texts_of(averaged->runs[0].notes),
            (Lines{"tools/acc: reports/m/tools.json states 0.4000, with 0 for EMPTY without "
                   "answers; its 200 answers have a mean of 0.5000, which is taken",
                   "tools/acc: no answers to EMPTY, so no score of them"}));
  const auto right = read_texts({{"reports/m/tools.json", report_of_parts("0.5", subsets)}});
  ASSERT_TRUE(right);
  EXPECT_EQ(texts_of(right->runs.at(0).notes),
            Lines{"tools/acc: no answers to EMPTY, so no score of them"});
}

TEST(Evalscope, ATotalOutsideOfItsPartsContradictsThem) {
  const auto contradiction = [](const std::string& total) {
    const auto results = read_texts(
        {{"reports/m/tools.json", report_of_parts(total, R"({"name": "A", "score": 0.4, "num": 150},
                                    {"name": "B", "score": 0.8, "num": 50})")}});
    EXPECT_TRUE(results) << results.error().message;
    return results ? text_of(results->runs.at(0).series.at(0).contradiction) : "";
  };
  EXPECT_EQ(contradiction("0.5"), "");  // of its answers
  EXPECT_EQ(contradiction("0.6"), "");  // of its subsets
  EXPECT_EQ(contradiction("0.139"),
            "tools/acc: reports/m/tools.json states 0.1390 in all, but its parts lie between "
            "0.4000 and 0.8000");
}

TEST(Evalscope, AFewReviewsOfManyAreAPart) {
  const std::string report = R"({"dataset_name": "q", "model_name": "m", "metrics": [
      {"name": "mean_acc", "score": 0.5, "num": 400, "categories": [{"name": ["default"],
       "subsets": [{"name": "default", "score": 0.5, "num": 400}]}]}]})";
  const std::string reviews = review(0, R"({"acc": 1})") + review(1, R"({"acc": 0})");
  const auto folder =
      read_texts({{"reports/m/q.json", report}, {"reviews/m/q_default.jsonl", reviews}});
  ASSERT_TRUE(folder) << folder.error().message;
  EXPECT_EQ(series_lines(folder->runs.at(0)), Lines{"q/acc 0.5 2 primary"});  // to be looked at
  EXPECT_EQ(text_of(folder->runs[0].series[0].contradiction),
            "reviews/m/q_default.jsonl holds 2 reviews, its report says 400");
  const auto cut = read_texts({{"reports/m/q.json", report},
                               {"reviews/m/q_default.jsonl", reviews + R"({"index": 2, "in)"}},
                              "reviews/m/q_default.jsonl");
  ASSERT_TRUE(cut) << cut.error().message;
  EXPECT_EQ(text_of(cut->runs.at(0).series.at(0).contradiction),
            "reviews/m/q_default.jsonl:3: the file breaks off in this line: 2 of 400 reviews are "
            "there");
}

TEST(Evalscope, OfTwoEvaluationsOfOneDatasetTheLaterCounts) {
  const auto results = read_texts(
      {{"20260101_120000/reviews/m/q_default.jsonl", review(0, R"({"acc": 1})")},
       {"20260101_120000/reports/m/q.json",
        R"({"dataset_name": "q", "model_name": "m", "metrics": [{"name": "mean_acc", "score": 1.0, "num": 1}]})"},
       {"20260202_120000/reviews/m/q_default.jsonl", review(0, R"({"acc": 0})")}});
  ASSERT_TRUE(results) << results.error().message;
  const ForeignRun& run = results->runs.at(0);
  EXPECT_EQ(series_lines(run), Lines{"q/acc 0 1 primary"});
  EXPECT_EQ(run.series[0].reported, std::nullopt);
  ASSERT_EQ(run.notes.size(), 1u);
  EXPECT_TRUE(
      text_of(run.notes[0])
          .starts_with(
              "q is there twice: the later counts, 20260202_120000/reviews/m/q_default.jsonl"))
      << text_of(run.notes[0]);
}

TEST(Evalscope, BadRowsAreRefusedWithTheirLine) {
  const auto refusal = [](const std::string& text) {
    const auto results = read_texts({{"reviews/m/q_default.jsonl", text}});
    return results ? std::string() : results.error().message;
  };
  EXPECT_EQ(refusal(review(0, R"({"acc": 1})") + review(0, R"({"acc": 1})")),
            "reviews/m/q_default.jsonl:2: item default/0 of q/acc occurs twice; is the same file "
            "there twice, or are two runs in one?");
  EXPECT_EQ(refusal(review(0, R"({"acc": "good"})")),
            "reviews/m/q_default.jsonl:1: the score acc is \"good\"; a number is expected");
  EXPECT_EQ(refusal(R"({"index": 1, "sample_score": {}})"),
            "reviews/m/q_default.jsonl:1: a review has an index and sample_score/score");
}

TEST(Evalscope, RealReportsReviewsAndPairs) {
  NB_NEEDS_IMPORTS();
  const auto folder = test::imports_dir() / "evalscope/modenicheng__llm_eval_evalscope";
  const auto both = read_foreign(folder);
  ASSERT_TRUE(both) << both.error().message;
  ASSERT_EQ(both->runs.size(), 2u);
  const auto run_of = [&](const std::string& model) -> const ForeignRun& {
    return both->runs[both->runs[0].model == model ? 0 : 1];
  };
  const auto find = [](const ForeignRun& run, const SeriesName& name) {
    const auto at = std::find_if(run.series.begin(), run.series.end(),
                                 [&](const ForeignSeries& one) { return one.name == name; });
    return at == run.series.end() ? ForeignSeries{} : *at;
  };
  // The items of one subset: all of them for an empty name.
  const auto part = [](ForeignSeries series, const std::string& subset) {
    PackedItems items;
    for (const ItemRecord& item : series.items)
      if (subset.empty() || item.source_id.starts_with(subset + "/")) items.push_back(item);
    series.items = std::move(items);
    return series;
  };
  int reports = 0, reviews = 0;
  for (const Json& file : test::expected("files", "evalscope/")) {
    SCOPED_TRACE(file.at("file"));
    const ForeignRun& run = run_of(file.at("model"));
    const std::string dataset = file.at("dataset");
    if (file.at("harness") == "evalscope report") {
      ++reports;
      for (const auto& [name, facts] : file.at("metrics").items()) {
        const ForeignSeries series = find(run, {dataset, "", name.substr(5)});
        EXPECT_EQ(series.reported, facts.at("score").get<double>());
        EXPECT_EQ(series.reported_n, facts.at("num"));
      }
      continue;
    }
    ++reviews;
    for (const auto& [name, mean] : file.at("mean").items()) {
      const ForeignSeries series = part(find(run, {dataset, "", name}), file.at("subset"));
      EXPECT_EQ(series.items.size(), file.at("rows"));
      EXPECT_NEAR(test::mean_of(series), mean.get<double>(), 1e-12);
    }
  }
  EXPECT_EQ(reports, 4);
  EXPECT_EQ(reviews, 12);
  const auto pairs = test::expected("pairs", "evalscope/");
  ASSERT_EQ(pairs.size(), 7u);
  for (const Json& pair : pairs) {
    const std::string name = pair.at("name");
    SCOPED_TRACE(name);
    const std::size_t space = name.find(' ');
    const std::string dataset = name.substr(0, space);
    const std::string subset = space == name.npos ? "" : name.substr(space + 1);
    const SeriesName series{dataset, "", pair.at("metric")};
    const auto a = part(find(run_of(pair.at("a").at("model")), series), subset);
    const auto b = part(find(run_of(pair.at("b").at("model")), series), subset);
    const test::Counts counts = test::counts_of(a, b);
    EXPECT_EQ(counts.unpaired, 0);
    EXPECT_EQ(counts.both_right, pair.at("both_right"));
    EXPECT_EQ(counts.only_a, pair.at("only_a"));
    EXPECT_EQ(counts.only_b, pair.at("only_b"));
    EXPECT_EQ(counts.both_wrong, pair.at("both_wrong"));
    EXPECT_EQ(counts.prompts_equal, pair.at("paired"));
    EXPECT_NEAR(test::mean_of(a), pair.at("mean_a").get<double>(), 1e-12);
  }
}

}  // namespace
}  // namespace nb
