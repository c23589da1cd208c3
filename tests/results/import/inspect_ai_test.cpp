#include <fmt/format.h>
#include <gtest/gtest.h>

#include "results/foreign/lines.hpp"
#include "results/import/formats.hpp"
#include "results/import/to_records.hpp"
#include "tests/results/import/expected.hpp"
#include "tests/results/import/foreign_text.hpp"
#include "tests/results/import/make_zip.hpp"
#include "tests/support/temp_dir.hpp"

namespace nb {
namespace {

using test::read_texts;
using test::series_lines;
using test::zip_of;
using test::ZipFile;
using Lines = std::vector<std::string>;

constexpr const char* kEval =
    R"("eval": {"created": "2026-01-02T03:04:05+00:00", "task": "quiz", "task_version": 2,
        "task_args": {"fewshot": 5}, "dataset": {"samples": 100}, "model": "vllm/a", "model_args": {},
        "config": {"limit": 2, "epochs": 2}, "packages": {"inspect_ai": "0.3.150"}})";
constexpr const char* kResults =
    R"("results": {"total_samples": 2, "scores": [
        {"name": "match", "scorer": "match", "scored_samples": 2,
         "metrics": {"accuracy": {"value": 0.625}, "stderr": {"value": NaN}}},
        {"name": "depth", "scorer": "graded", "metrics": {"mean": {"value": 0.5}}},
        {"name": "match", "scorer": "match", "reducer": "at_least_1",
         "metrics": {"accuracy": {"value": 1.0}}},
        {"name": "cost", "scorer": "cost", "metrics": {"sum": {"value": 12}}}]})";

std::string sample(const std::string& id, int epoch, const std::string& match,
                   const std::string& graded) {
  const std::string name = id == "1" ? "1" : "b/2";
  return fmt::format(
      R"({{"id": {}, "epoch": {}, "input": [{{"id": "x{}", "role": "user", "content": "attachment://q"}}],
      "choices": ["one", "two"], "target": ["A", "B"], "attachments": {{"q": "Which {}?"}},
      "messages": [{{"role": "system", "content": "Be short."}},
                   {{"role": "user", "content": [{{"type": "text", "text": "Which {}?"}}]}},
                   {{"role": "assistant", "content": "A"}}],
      "output": {{"completion": "It is A."}},
      "scores": {{"match": {{"value": {}, "answer": "A"}}, "graded": {{"value": {}}}}}}})",
      id, epoch, epoch, name, name, match, graded);
}

std::string json_log(const std::string& samples, const std::string& status = "success") {
  return fmt::format(
      R"({{"version": 2, "status": "{}", {}, "plan": {{"config": {{"temperature": 0.5}}}},
      {}, "samples": [{}]}})",
      status, kEval, kResults, samples);
}

const std::string kFour = sample("1", 1, R"("C")", R"({"depth": 1, "width": null})") + ",\n" +
                          sample("1", 2, R"("P")", R"({"depth": 0, "width": 0.25})") + "," +
                          sample("\"b/2\"", 1, R"("N")", R"({"depth": 1, "width": NaN})") + "," +
                          sample("\"b/2\"", 2, R"("C")", R"({"depth": 0, "width": true})");

void expect_the_quiz(const Result<ForeignResults>& results) {
  ASSERT_TRUE(results) << results.error().message;
  ASSERT_EQ(results->runs.size(), 1u);
  const ForeignRun& run = results->runs[0];
  EXPECT_EQ(run.harness, "inspect_ai");
  EXPECT_EQ(run.model, "vllm/a");
  Lines lines = series_lines(run);  // in the order in which the samples name them
  std::sort(lines.begin(), lines.end());
  EXPECT_EQ(lines, (Lines{"quiz/graded.depth 0.5 2", "quiz/graded.width 0.625 2",
                          "quiz/match 0.625 2 primary", "quiz:at_least_1/match 1 2"}));
  const auto at =
      std::find_if(run.series.begin(), run.series.end(), [](const ForeignSeries& series) {
        return series.name.metric == "match" && series.name.filter.empty();
      });
  ASSERT_NE(at, run.series.end());
  const ForeignSeries& match = *at;
  EXPECT_EQ(match.must_match, (std::map<std::string, std::string>{
                                  {"samples", "2"}, {"shots", "5"}, {"version", "2"}}));
  EXPECT_EQ(match.available_n, 100);
  EXPECT_EQ(match.reported, 0.625);
  EXPECT_FALSE(match.reported_stderr);
  ASSERT_EQ(match.items.size(), 2u);
  EXPECT_EQ(match.items[0].source_id, "1");
  EXPECT_EQ(match.items[0].value, 0.75);
  EXPECT_EQ(match.items[0].prediction, "A");
  EXPECT_EQ(match.items[0].gold, "A | B");
  EXPECT_EQ(match.items[0].id, content_hash("user: Which 1?\none\ntwo\nA | B"));
  EXPECT_EQ(match.items[0].prompt_hash, content_hash("system: Be short.\nuser: Which 1?"));
  EXPECT_EQ(match.items[1].reason, "no answer");
  EXPECT_EQ(run.provenance.at("version"), "0.3.150");
  EXPECT_EQ(run.provenance.at("temperature"), "0.5");
  EXPECT_EQ(run.provenance.at("backend"), "vllm");
  EXPECT_EQ(texts_of(run.notes),
            Lines{"quiz/graded.width: 2 of 4 samples are marked as not scored"});
}

TEST(InspectAi, ScoresOfSeveralScorersAndEpochsInJson) {
  const auto results = read_texts({{"log.json", json_log(kFour)}});
  expect_the_quiz(results);
  ASSERT_TRUE(results);
  EXPECT_EQ(texts_of(results->ignored),
            Lines{"log.json: scorer cost reports neither accuracy nor mean; its other metrics are "
                  "left out"});
}

std::vector<ZipFile> archive(int method) {
  const std::string header = fmt::format(
      R"({{"version": 3, "status": "success", {}, "plan": {{"config": {{"temperature": 0.5}}}}, {}}})",
      kEval, kResults);
  return {{"_journal/start.json", "{}", method},
          {"samples/1_epoch_2.json", sample("1", 2, R"("P")", R"({"depth": 0, "width": 0.25})"),
           method},
          {"samples/1_epoch_1.json", "this one was written anew", method},
          {"samples/b/2_epoch_1.json",
           sample("\"b/2\"", 1, R"("N")", R"({"depth": 1, "width": NaN})"), method},
          {"samples/b/2_epoch_2.json",
           sample("\"b/2\"", 2, R"("C")", R"({"depth": 0, "width": true})"), method},
          {"samples/1_epoch_1.json", sample("1", 1, R"("C")", R"({"depth": 1, "width": null})"),
           method},
          {"summaries.json", "[]", method},
          {"header.json", header, method}};
}

TEST(InspectAi, ArchivesStoredDeflatedOrInZstdSayTheSame) {
  for (const int method : {0, 8, 93}) {
    SCOPED_TRACE(method);
    expect_the_quiz(read_texts({{"log.eval", zip_of(archive(method))}}));
  }
}

TEST(InspectAi, LargeSamplesLieInPiecesWithNumberedAttachments) {
  const auto results = read_texts(
      {{"log.eval",
        zip_of({{"_journal/start.json", fmt::format(R"({{"version": 3, {}}})", kEval)},
                {"samples/7_epoch_1/sample.json",
                 R"({"id": 7, "epoch": 1, "input": "attachment://11", "target": "attachment://3",
                     "scores": {"match": {"value": "C"}}})"},
                {"samples/7_epoch_1/events/0.json", "[]"},
                {"samples/7_epoch_1/attachments/0.json", R"(["a", "b", "c", "four"])"},
                {"samples/7_epoch_1/attachments/10.json", R"(["x", "Why?"])"}})}});
  ASSERT_TRUE(results) << results.error().message;
  const ForeignRun& run = results->runs.at(0);
  ASSERT_EQ(run.series.at(0).items.size(), 1u);
  EXPECT_EQ(run.series[0].items[0].id, content_hash("Why?\n\nfour"));
  EXPECT_EQ(texts_of(run.notes), Lines{"quiz: the log's status is started; 1 samples are there"});
}

TEST(InspectAi, CancelledLogsAndSamplesWithoutScoresAreNoted) {
  const auto results = read_texts(
      {{"log.json", json_log(sample("1", 1, "1", "2") +
                                 R"(,{"id": 2, "epoch": 1, "error": {"message": "out of memory"}})"
                                 R"(,{"id": 3, "epoch": 1, "scores": {}})",
                             "cancelled")}});
  ASSERT_TRUE(results) << results.error().message;
  EXPECT_EQ(texts_of(results->runs.at(0).notes),
            (Lines{"quiz: the log's status is cancelled; 3 samples are there",
                   "quiz: 2 of 3 samples have no score, 1 of them an error"}));
}

TEST(InspectAi, LogsWithoutSamplesHaveTotalsAndLogsWithoutScoresHaveNothing) {
  const std::string totals =
      fmt::format(R"({{"status": "success", {}, {}, "samples": null}})", kEval, kResults);
  const auto results = read_texts({{"log.json", totals}});
  ASSERT_TRUE(results) << results.error().message;
  EXPECT_EQ(series_lines(results->runs.at(0)),
            (Lines{"quiz/match 0.625 2 primary", "quiz/graded.depth 0.5 0",
                   "quiz:at_least_1/match 1 0"}));
  const auto nothing =
      read_texts({{"log.json", fmt::format(R"({{"status": "error", {}}})", kEval)}}, "log.json");
  ASSERT_FALSE(nothing);
  EXPECT_EQ(nothing.error().message, "log.json: holds no scores");
}

TEST(InspectAi, OfTheSameLogInTwoFormsOneCounts) {
  const auto results =
      read_texts({{"log.eval", zip_of(archive(8))}, {"log.json", json_log(kFour)}});
  ASSERT_TRUE(results) << results.error().message;
  ASSERT_EQ(results->runs.size(), 1u);
  for (const ForeignSeries& series : results->runs[0].series) EXPECT_EQ(series.items.size(), 2u);
  EXPECT_EQ(texts_of(results->runs[0].notes),
            (Lines{"quiz/graded.width: 2 of 4 samples are marked as not scored",
                   "quiz is there twice: the later counts, log.json; log.eval is left out"}));
}

// Items × epochs of scores, one letter each.
std::string epochs_log(const std::string& reducer, const Lines& scores) {
  std::string samples;
  for (std::size_t i = 0; i < scores.size(); ++i)
    for (std::size_t epoch = 0; epoch < scores[i].size(); ++epoch)
      samples += fmt::format(R"({}{{"id": {}, "epoch": {}, "input": "Q{}", "target": "t",
          "scores": {{"match": {{"value": "{}"}}}}}})",
                             samples.empty() ? "" : ",", i, epoch + 1, i, scores[i][epoch]);
  return fmt::format(
      R"({{"status": "success", "eval": {{"created": "2026-01-02T03:04:05+00:00", "task": "quiz",
          "model": "org/m", "config": {{"epochs": {}, "epochs_reducer": ["{}"]}}}},
          "results": {{"scores": [{{"name": "match", "scorer": "match", "reducer": "{}",
          "metrics": {{"accuracy": {{"value": 0.5}}}}}}]}}, "samples": [{}]}})",
      scores.at(0).size(), reducer, reducer, samples);
}

TEST(InspectAi, TheHeadlineIsTheLogsOwnReducerItemByItem) {
  const auto lines = [](const std::string& reducer) {
    auto results = read_texts({{"log.json", epochs_log(reducer, {"CII", "III", "CCI"})}});
    EXPECT_TRUE(results) << results.error().message;
    Lines all = results ? series_lines(results->runs.at(0)) : Lines{};
    std::sort(all.begin(), all.end());
    return all;
  };
  EXPECT_EQ(lines("max"), (Lines{"quiz/match 0.333333 3", "quiz:max/match 0.666667 3 primary"}));
  EXPECT_EQ(lines("mode"), (Lines{"quiz/match 0.333333 3", "quiz:mode/match 0.333333 3 primary"}));
  EXPECT_EQ(lines("at_least_2"),
            (Lines{"quiz/match 0.333333 3", "quiz:at_least_2/match 0.333333 3 primary"}));
  // 1 − C(2, 2)/C(3, 2), 0, 1.
  EXPECT_EQ(lines("pass_at_2"),
            (Lines{"quiz/match 0.333333 3", "quiz:pass_at_2/match 0.555556 3 primary"}));
  EXPECT_EQ(lines("mean"), Lines{"quiz/match 0.333333 3 primary"});
  // What is not known is not guessed: the total, as it is reported.
  EXPECT_EQ(lines("best_guess"),
            (Lines{"quiz/match 0.333333 3", "quiz:best_guess/match 0.5 0 primary"}));
}

TEST(InspectAi, NumbersOfAScorerThatIsNotKnownHaveNoDirection) {
  const auto direction = [](const std::string& value, const std::string& metric) {
    const auto results =
        read_texts({{"log.json",
                     fmt::format(R"({{"status": "success", "eval": {{"created": "2026", "task": "t",
            "model": "org/m"}}, "results": {{"scores": [{{"name": "oddness", "scorer": "oddness",
            "metrics": {{"{}": {{"value": 0.5}}}}}}]}}, "samples": [{{"id": 1, "epoch": 1,
            "input": "Q", "target": "t", "scores": {{"oddness": {{"value": {}}}}}}}]}})",
                                 metric, value)}});
    EXPECT_TRUE(results) << results.error().message;
    return results ? results->runs.at(0).series.at(0).direction : std::nullopt;
  };
  EXPECT_EQ(direction("12", "mean"), Direction::kNone);
  EXPECT_EQ(direction("1", "accuracy"), Direction::kHigher);
  EXPECT_EQ(direction(R"("P")", "mean"), Direction::kHigher);
}

TEST(InspectAi, FewScoredSamplesAreAPart) {
  const auto contradiction = [](int scored, int of) -> std::string {
    std::string samples;
    for (int i = 0; i < of; ++i)
      samples += fmt::format(R"({}{{"id": {}, "epoch": 1, "input": "Q{}", "target": "t"{}}})",
                             i == 0 ? "" : ",", i, i,
                             i < scored ? R"(, "scores": {"match": {"value": "C"}})" : "");
    const auto results =
        read_texts({{"log.json",
                     fmt::format(R"({{"status": "success", "eval": {{"created": "2026", "task": "t",
            "model": "org/m"}}, "samples": [{}]}})",
                                 samples)}});
    EXPECT_TRUE(results) << results.error().message;
    if (!results) return "";
    // Imported and read again it says the same: a record with a contradiction was once refused.
    const test::TempDir folder;
    const auto written = write_import(*results, folder.path() / "run");
    EXPECT_TRUE(written) << written.error().message;
    const auto again = read_any_run(folder.path() / "run");
    EXPECT_TRUE(again) << again.error().message;
    const std::string said = text_of(results->runs.at(0).series.at(0).contradiction);
    if (again && !said.empty()) {
      const Json& series = (*again->records.at(0).record.settings).at("imported").at("series");
      EXPECT_EQ(series.begin()->at("contradiction"), said);
    }
    return said;
  };
  EXPECT_EQ(contradiction(1, 79), "t/match: 1 of 79 samples have a score");
  EXPECT_EQ(contradiction(78, 79), "");
}

TEST(InspectAi, OneScorerAsTheFirstReleasesWroteIt) {
  const auto results = read_texts({{"log.json", R"({"version": 1, "status": "success",
      "eval": {"created": "2024", "task": "t", "model": "org/m"},
      "results": {"scorer": {"name": "match"}, "metrics": {"accuracy": {"value": 1.0}}},
      "samples": [{"id": 1, "epoch": 1, "input": "Q", "target": "t", "score": {"value": "C"}}]})"}});
  ASSERT_TRUE(results) << results.error().message;
  EXPECT_EQ(series_lines(results->runs.at(0)), Lines{"t/match 1 1 primary"});
  EXPECT_EQ(results->runs[0].series[0].reported, 1.0);
}

std::string refusal(const std::string& name, const std::string& bytes) {
  const auto results = read_texts({{name, bytes}});
  return results ? "" : results.error().message;
}

TEST(InspectAi, BadLogsAreRefusedWithTheirPlace) {
  EXPECT_EQ(
      refusal("log.json", json_log(sample("1", 1, R"("Q")", "1"))),
      "log.json: /samples/0: /scores/match/value: \"Q\" is no score; known are C, I, P, N, yes, "
      "no, true, false and finite numbers");
  EXPECT_EQ(
      refusal("log.json", json_log(sample("1", 1, "Infinity", "1"))),
      "log.json: /samples/0: /scores/match/value: \"Infinity\" is no score; known are C, I, P, "
      "N, yes, no, true, false and finite numbers");
  EXPECT_EQ(
      refusal("log.json", json_log(sample("1", 1, "1", "1") + "," + sample("1", 1, "1", "1"))),
      "log.json: /samples/1: item 1 of quiz/graded occurs twice; is the same file there twice, "
      "or are two runs in one?");
  EXPECT_EQ(
      refusal("log.json", json_log(R"({"id": 1, "scores": {"match": {"value": 1,}}})")),
      "log.json: /samples/0: /scores:1:23: syntax error while parsing object key - unexpected '}'; "
      "expected string literal");
  EXPECT_EQ(refusal("log.json", R"({"version": 2, "status": "success", "eval": {"task": "t"}})"),
            "log.json: /eval: an inspect_ai log names its task and its model here");
  const std::string whole = json_log(kFour);
  const std::size_t half = whole.find("\"b/2\"");
  EXPECT_EQ(refusal("log.json", whole.substr(0, half)),
            fmt::format("log.json: byte {}: the text ends in the middle of \"samples\"; is the "
                        "file cut off?",
                        half));
}

TEST(InspectAi, BadArchivesAreRefusedWithTheirFile) {
  const std::string whole = zip_of(archive(8));
  EXPECT_EQ(refusal("log.eval", whole.substr(0, whole.size() / 2)),
            "log.eval: this ZIP cannot be opened (Not a zip archive); is it cut off?");
  std::string damaged = whole;
  damaged[whole.find("samples/1_epoch_2.json") + 100] ^= 0x55;
  EXPECT_TRUE(
      refusal("log.eval", damaged).starts_with("log.eval: samples/1_epoch_2.json: is damaged"))
      << refusal("log.eval", damaged);
  EXPECT_EQ(refusal("log.eval", zip_of({{"samples/1_epoch_1.json", "{}"}})),
            "log.eval: holds neither header.json nor _journal/start.json, as inspect_ai logs do");
  EXPECT_EQ(refusal("log.eval", zip_of({{"header.json", "{\"status\":"}})),
            "log.eval: header.json: byte 10: the text ends in the middle of \"status\"; is the "
            "file cut off?");
  auto odd = archive(0);
  odd.back().method = 14;
  EXPECT_EQ(
      refusal("log.eval", zip_of(odd)),
      "log.eval: header.json: its compression (method 14) is not read, only deflate and zstd; "
      "'inspect log convert' writes such a log anew");
}

TEST(InspectAi, ArchivesThatFillMemoryAreRefused) {
  const std::string zeros(20'000'000, '0');
  for (const int method : {8, 93}) {
    const std::string message = refusal("log.eval", zip_of({{"header.json", zeros, method}}));
    EXPECT_TRUE(message.starts_with("log.eval: header.json: unpacks to 19.1 MiB from ")) << message;
    EXPECT_TRUE(
        message.ends_with("bytes, more than 300 times as much: this is no log but a file "
                          "made to fill memory"))
        << message;
    // It states little and holds much.
    const std::string liar =
        refusal("log.eval", zip_of({{"header.json", zeros, method, std::uint32_t{100}}}));
    EXPECT_TRUE(liar.starts_with("log.eval: header.json: is damaged")) << liar;
  }
  EXPECT_EQ(refusal("log.eval", zip_of({{"header.json", "{}", 0, 4'000'000'000u}})),
            "log.eval: header.json: unpacks to 3.7 GiB; up to 1.0 GiB are read");
}

TEST(InspectAi, RealLogsHaveTheirCountsAndTotals) {
  NB_NEEDS_IMPORTS();
  const auto files = test::expected("files", "inspect_ai/");
  ASSERT_EQ(files.size(), 9u);
  for (const Json& file : files) {
    const std::string path = file.at("file");
    SCOPED_TRACE(path);
    const auto results = read_foreign(test::imports_dir() / path);
    if (file.at("values").empty() && file.at("reported").empty()) {
      EXPECT_FALSE(results);
      continue;
    }
    ASSERT_TRUE(results) << results.error().message;
    const ForeignRun& run = results->runs.at(0);
    EXPECT_EQ(run.model, file.at("model"));
    EXPECT_EQ(run.series.size(), file.at("reported").size());
    for (const auto& [scorer, metrics] : file.at("reported").items()) {
      const ForeignSeries& series = run.series.at(0);
      EXPECT_EQ(series.name, (SeriesName{file.at("task"), "", scorer}));
      EXPECT_EQ(series.reported, metrics.at("accuracy").get<double>());
      EXPECT_EQ(series.reported_stderr, metrics.at("stderr").get<double>());
      EXPECT_EQ(series.available_n, file.at("dataset_samples"));
      if (series.items.empty()) continue;
      EXPECT_NEAR(test::mean_of(series), *series.reported, 1e-12);
    }
    for (const auto& [scorer, values] : file.at("values").items()) {
      int right = 0, all = 0;
      for (const auto& [score, count] : values.items()) {
        all += count.get<int>();
        if (score == "\"C\"") right += count.get<int>();
      }
      EXPECT_NEAR(test::mean_of(run.series.at(0)), double(right) / all, 1e-12) << scorer;
    }
  }
}

TEST(InspectAi, RealLogsPairByTheirQuestions) {
  NB_NEEDS_IMPORTS();
  const auto pairs = test::expected("pairs", "inspect_ai/");
  ASSERT_EQ(pairs.size(), 4u);
  for (const Json& pair : pairs) {
    SCOPED_TRACE(pair.at("name"));
    const std::string name = pair.at("name"), task = name.substr(0, name.find(" ["));
    const auto a = test::series_of(pair.at("a").at("files"), task, pair.at("metric"));
    const auto b = test::series_of(pair.at("b").at("files"), task, pair.at("metric"));
    ASSERT_TRUE(a) << a.error().message;
    ASSERT_TRUE(b) << b.error().message;
    const test::Counts counts = test::counts_of(*a, *b);
    EXPECT_EQ(counts.both_right, pair.at("both_right"));
    EXPECT_EQ(counts.only_a, pair.at("only_a"));
    EXPECT_EQ(counts.only_b, pair.at("only_b"));
    EXPECT_EQ(counts.both_wrong, pair.at("both_wrong"));
    EXPECT_EQ(counts.targets_equal, pair.at("paired"));
  }
}

}  // namespace
}  // namespace nb
