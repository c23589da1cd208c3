#include <fmt/format.h>
#include <gtest/gtest.h>

#include "results/import/builder.hpp"
#include "results/import/formats.hpp"
#include "tests/results/import/expected.hpp"
#include "tests/results/import/foreign_text.hpp"
#include "tests/results/import/packed_text.hpp"

namespace nb {
namespace {

using test::read_texts;
using test::series_lines;
using Lines = std::vector<std::string>;

// A generated answer's row; label: "" before pull request 2517.
std::string generated(int id, const std::string& label, double score, const std::string& answer) {
  const std::string filter =
      label.empty() ? "" : R"("filter": ")" + label + R"(", "metrics": ["exact_match"], )";
  return fmt::format(
      R"({{"doc_id": {0}, "doc": {{"question": "q{0}", "answer": "#### {0}"}}, "target": "#### {0}",
"arguments": {{"gen_args_0": {{"arg_0": "Q: q{0}\nA:", "arg_1": {{"until": ["Q:"]}}}}}},
"resps": [["so {3}"]], "filtered_resps": ["{3}"], {1}"doc_hash": "d{0}", "prompt_hash": "p{0}",
"target_hash": "t{0}", "exact_match": {2}}})",
      id, filter, score, answer);
}

std::string sample_rows(const Lines& lines) {
  std::string text;
  for (std::string line : lines) {
    std::erase(line, '\n');
    text += line + "\n";
  }
  return text;
}

constexpr const char* kStamp = "2026-01-21T03-44-18.458309";

std::string gsm8k_results(const std::string& more) {
  return R"({"results": {"gsm8k": {"exact_match,strict-match": 0.5, "exact_match,flexible-extract": 1.0}},
  "configs": {"gsm8k": {"filter_list": [{"name": "strict-match"}, {"name": "flexible-extract"}]}},
  "versions": {"gsm8k": 3.0}, "n-shot": {"gsm8k": 5}, "n-samples": {"gsm8k": {"original": 2,
  "effective": 2}}, "model_name": "a/b")" +
         more + "}";
}

TEST(LmEvalSamples, JoinTheResultsOfTheirTimeByTaskAndModel) {
  const auto results = read_texts(
      {{fmt::format("a__b/results_{}.json", kStamp), gsm8k_results("")},
       {fmt::format("a__b/samples_gsm8k_{}.jsonl", kStamp),
        sample_rows({generated(1, "strict-match", 0, "[invalid]"),
                     generated(0, "strict-match", 1, "0"), generated(0, "flexible-extract", 1, "0"),
                     generated(1, "flexible-extract", 1, "1")})}});
  ASSERT_TRUE(results) << results.error().message;
  ASSERT_EQ(results->runs.size(), 1u);
  const ForeignRun& run = results->runs[0];
  EXPECT_EQ(run.model, "a/b");
  EXPECT_EQ(run.files.size(), 2u);
  EXPECT_EQ(texts_of(run.notes), Lines{});
  EXPECT_EQ(series_lines(run), (Lines{"gsm8k:flexible-extract/exact_match 1 2",
                                      "gsm8k:strict-match/exact_match 0.5 2 primary"}));
  const ForeignSeries& strict = run.series[1];
  EXPECT_EQ(strict.must_match.at("shots"), "5");
  EXPECT_EQ(strict.reported, 0.5);
  EXPECT_EQ(strict.items[0].source_id, "0");
  EXPECT_EQ(strict.items[0].prediction, "0");
  EXPECT_EQ(strict.items[0].doc_hash, "d0");
  EXPECT_EQ(strict.items[1].reason, "no answer");
}

TEST(LmEvalSamples, RowsWithoutLabelsTakeTheFiltersInTheirOrder) {
  // All documents of the first filter, then all of the next; two ranks, each with its own.
  const Lines lines = {generated(0, "", 1, "0"), generated(2, "", 0, "2"),
                       generated(0, "", 0, "0"), generated(2, "", 0, "2"),
                       generated(1, "", 0, "1"), generated(1, "", 1, "1")};
  const std::string name = fmt::format("samples_gsm8k_{}.jsonl", kStamp);
  auto results = read_texts(
      {{fmt::format("results_{}.json", kStamp), gsm8k_results("")}, {name, sample_rows(lines)}});
  ASSERT_TRUE(results) << results.error().message;
  const ForeignRun* run = &results->runs.at(0);
  ASSERT_EQ(series_lines(*run), (Lines{"gsm8k:flexible-extract/exact_match 0.333333 3",
                                       "gsm8k:strict-match/exact_match 0.333333 3 primary"}));
  EXPECT_TRUE(run->series[1].items[0].ok);
  EXPECT_TRUE(run->series[0].items[1].ok);
  EXPECT_EQ(text_of(run->series[1].contradiction),
            name + " holds 3 items of gsm8k, its results say 2");
  // Alone: numbered, and the model is the folder's name.
  results = read_texts({{"x__y/" + name, sample_rows(lines)}});
  ASSERT_TRUE(results) << results.error().message;
  run = &results->runs.at(0);
  EXPECT_EQ(run->model, "x/y");
  EXPECT_EQ(series_lines(*run), (Lines{"gsm8k/exact_match 0.333333 3 primary",
                                       "gsm8k:filter 2/exact_match 0.333333 3"}));
  ASSERT_EQ(run->notes.size(), 1u);
  EXPECT_TRUE(text_of(run->notes[0]).ends_with("shots and version are not known"))
      << text_of(run->notes[0]);
}

// A choice question's row: by log-probability choice 0 wins, per character choice 1.
std::string chosen(const std::string& arguments, const std::string& numbers) {
  return R"({"doc_id": 7, "doc": {"q": "?"}, "target": "1", "arguments": )" + arguments +
         R"(, "resps": [], "filtered_resps": )" + numbers +
         R"(, "filter": "none", "metrics": ["acc", "acc_norm", "mcc", "perplexity"], "acc": 0.0,
"acc_norm": 1.0, "mcc": [1, 0], "perplexity": -3.5, "doc_hash": "d", "prompt_hash": "p"})";
}

TEST(LmEvalSamples, ChoicesAreThoseOfEachMetricInBothFormsOfArguments) {
  const std::string object =
      R"({"gen_args_0": {"arg_0": "Q", "arg_1": " no"}, "gen_args_1": {"arg_0": "Q", "arg_1": " é é é"}})";
  const std::string list = R"([["Q", " no"], ["Q", " é é é"]])";
  for (const std::string& row : {chosen(object, R"([["-4.0", "False"], ["-5.0", "True"]])"),
                                 chosen(list, "[[-4.0, false], [-5.0, true]]")}) {
    const auto results = read_texts({{"m/samples_t.jsonl", sample_rows({row})}});
    ASSERT_TRUE(results) << results.error().message;
    const ForeignRun& run = results->runs.at(0);
    ASSERT_EQ(series_lines(run), (Lines{"t/acc_norm 1 1 primary", "t/acc 0 1"}));
    EXPECT_EQ(run.series[0].items[0].prediction, "1");
    EXPECT_EQ(run.series[0].items[0].log_probs,
              (std::vector<float>{-2, -1}));  // 2 and 5 characters
    EXPECT_EQ(run.series[1].items[0].prediction, "0");
    EXPECT_EQ(run.series[1].items[0].log_probs, (std::vector<float>{-4, -5}));
    EXPECT_EQ(
        texts_of(results->ignored),
        (Lines{"m/samples_t.jsonl: mcc has no value of its own for each item; its total counts",
               "m/samples_t.jsonl: perplexity has no value of its own for each item; its total "
               "counts"}));
  }
}

TEST(LmEvalSamples, OneArrayOfTheFirstReleasesPairsByItsText) {
  const std::string array = R"([{"doc_id": 0, "doc": {"q": "What\u00e9?"}, "target": "x",
    "arguments": [["Q"]], "resps": [["a"]], "filtered_resps": ["a"], "exact_match": 1.0}])";
  const std::string line = R"({"doc_id": 5, "doc": {"q": "Whaté?"}, "target": "x", "arguments": {},
"resps": [["a"]], "filtered_resps": ["b"], "filter": "none", "metrics": ["exact_match"],
"doc_hash": "h", "exact_match": 0.0})";
  const auto old = read_texts(
      {{"results.json", R"({"results": {"t": {"exact_match,none": 1.0}}, "versions": {"t": "Yaml"},
        "configs": {"t": {}}, "config": {"model_args": "pretrained=a/b"}})"},
       {"pretrained__a__b_t.jsonl", array}});
  const auto fresh = read_texts({{"a__b/samples_t.jsonl", sample_rows({line})}});
  ASSERT_TRUE(old) << old.error().message;
  ASSERT_TRUE(fresh) << fresh.error().message;
  EXPECT_EQ(old->runs.at(0).model, "a/b");
  EXPECT_EQ(series_lines(old->runs[0]), Lines{"t/exact_match 1 1 primary"});
  EXPECT_EQ(old->runs[0].series[0].items[0].id, fresh->runs.at(0).series.at(0).items[0].id);
}

TEST(LmEvalSamples, BadRowsAreNamedWithTheirLine) {
  const auto error = [](const std::string& text) {
    const auto results = read_texts({{"samples_t.jsonl", text}}, "samples_t.jsonl");
    return results ? std::string("none") : results.error().message;
  };
  const std::string good = sample_rows({generated(0, "none", 1, "0")});
  EXPECT_EQ(
      error(good + good),
      "samples_t.jsonl:2: item 0 of t/exact_match occurs twice; is the same file there twice, "
      "or are two runs in one?");
  EXPECT_TRUE(error(good.substr(0, 100)).starts_with("samples_t.jsonl:1:"));
  EXPECT_TRUE(error(good + good.substr(0, 100) + "\n").starts_with("samples_t.jsonl:2:"));
  EXPECT_EQ(
      error(sample_rows(
          {generated(0, "", 1, "0"), generated(1, "", 1, "1"), generated(0, "", 1, "0")})),
      "samples_t.jsonl: item 0 has 2 rows and item 1 has 1; rows without a filter's name must "
      "be as many for each (is the file cut off, or are two runs in one?)");
  std::string nan = good;
  nan.replace(nan.find("\"exact_match\": 1"), 16, "\"exact_match\": NaN");
  EXPECT_TRUE(error(nan).ends_with("put null there to leave it out")) << error(nan);
  std::string absent = good;
  absent.replace(absent.find("\"exact_match\": 1"), 16, "\"exact_match\": null");
  const auto results =
      read_texts({{"m/samples_t.jsonl", good + sample_rows({generated(1, "none", 0, "")}) + [&] {
                     std::string other = absent;
                     other.replace(other.find("\"doc_id\": 0"), 11, "\"doc_id\": 9");
                     return other;
                   }()}});
  ASSERT_TRUE(results) << results.error().message;
  EXPECT_EQ(text_of(results->runs[0].notes.back()), "t: 1 of its items have no exact_match");
}

TEST(LmEvalSamples, OfTwoTimesInOneFolderTheLaterCounts) {
  const std::string earlier = "samples_gsm8k_2026-01-20T00-00-00.1.jsonl";
  const auto results = read_texts({{"m/" + earlier, sample_rows({generated(0, "none", 1, "0")})},
                                   {fmt::format("m/samples_gsm8k_{}.jsonl", kStamp),
                                    sample_rows({generated(0, "none", 0, "0")})}});
  ASSERT_TRUE(results) << results.error().message;
  EXPECT_EQ(series_lines(results->runs.at(0)), Lines{"gsm8k/exact_match 0 1 primary"});
}

TEST(LmEvalSamples, RealFileHasItsTenRows) {
  NB_NEEDS_IMPORTS();
  const auto entries = test::expected("files", "lm_eval/evaleval__every_eval_ever/samples");
  ASSERT_EQ(entries.size(), 1u);
  const auto results = read_foreign(test::imports_dir() / "lm_eval/evaleval__every_eval_ever");
  ASSERT_TRUE(results) << results.error().message;
  ASSERT_EQ(results->runs.size(), 1u);
  const ForeignRun& run = results->runs[0];
  EXPECT_EQ(series_lines(run), (Lines{"math_perturbed_full/exact_match 0 10 primary",
                                      "math_rephrased_full/exact_match 0.0004 5000 primary"}));
  const auto& entry = entries[0];
  EXPECT_EQ(run.series[0].items.size(), entry.at("docs").get<std::size_t>());
  EXPECT_EQ(test::mean_of(run.series[0]), entry.at("means").at("exact_match").get<double>());
  EXPECT_EQ(text_of(run.series[0].contradiction),
            "samples_math_perturbed_full_2026-01-21T03-44-18.458309.jsonl holds 10 items of "
            "math_perturbed_full, its results say 5000");
  EXPECT_EQ(text_of(run.series[1].contradiction), "");
}

TEST(LmEvalSamples, ALastLineThatBreaksOffMakesTheItemsAPart) {
  const std::string name = fmt::format("samples_gsm8k_{}.jsonl", kStamp);
  const std::string rows = sample_rows({generated(0, "strict-match", 1, "0")}) +
                           sample_rows({generated(1, "strict-match", 1, "1")}).substr(0, 90);
  const auto results =
      read_texts({{fmt::format("results_{}.json", kStamp), gsm8k_results("")}, {name, rows}});
  ASSERT_TRUE(results) << results.error().message;
  for (const ForeignSeries& series : results->runs.at(0).series)
    EXPECT_EQ(text_of(series.contradiction),
              name + ":2: the file breaks off in this line: 1 of 2 items are there");
}

TEST(LmEvalSamples, PackedAndUtf16FilesSayWhatPlainOnesSay) {
  const std::string rows =
      sample_rows({generated(0, "none", 1, "0"), generated(1, "none", 0, "é")});
  const auto plain = read_texts({{"m/samples_t.jsonl", rows}});
  ASSERT_TRUE(plain) << plain.error().message;
  for (const auto& [name, bytes] : {std::pair{"m/samples_t.jsonl.gz", test::gzip_of(rows)},
                                    std::pair{"m/samples_t.jsonl", test::utf16_of(rows)}}) {
    const auto other = read_texts({{name, bytes}});
    ASSERT_TRUE(other) << other.error().message;
    EXPECT_EQ(other->runs.at(0).series.at(0).items, plain->runs.at(0).series.at(0).items);
    EXPECT_EQ(other->runs[0].series[0].name, plain->runs[0].series[0].name);
  }
}

TEST(LmEvalSamples, HowTheRowsWereGeneratedIsProvenance) {
  std::string row = generated(0, "none", 1, "0");
  ASSERT_NE(row.find("\"until\""), row.npos) << row;
  const auto settings_of = [&](const std::string& temperature) {
    std::string other = row;
    other.insert(other.find("\"until\""),
                 "\"temperature\": " + temperature + ", \"max_gen_toks\": 256, ");
    const auto results = read_texts({{"m/samples_t.jsonl", sample_rows({other})}});
    EXPECT_TRUE(results) << results.error().message;
    return results ? results->runs.at(0).provenance : std::map<std::string, std::string>{};
  };
  EXPECT_EQ(settings_of("0.8")["temperature:t"], "0.8");
  EXPECT_EQ(settings_of("0.0")["max_gen_toks:t"], "256");
}

TEST(LmEvalSamples, LogProbabilitiesThatAreNaNAreNoAnswers) {
  const auto choice = [](int id, const std::string& one) {
    return fmt::format(
        R"({{"doc_id": {}, "doc": {{"q": "Q{}"}}, "target": "1", "arguments": [["Q", " a"], ["Q", " b"]],
            "resps": [[[{}, "False"]], [[{}, "False"]]], "filtered_resps": [[{}, "False"], [{}, "False"]],
            "filter": "none", "metrics": ["acc"], "acc": 0.0}})",
        id, id, one, one, one, one);
  };
  const auto sentence = [&](const std::string& second) {
    std::string rows;
    for (const std::string& row : {choice(0, "\"nan\""), choice(1, second)}) {
      std::string line = row;
      std::erase(line, '\n');
      rows += line + "\n";
    }
    const auto results = read_texts({{"m/samples_t.jsonl", rows}});
    EXPECT_TRUE(results) << results.error().message;
    if (!results) return std::pair<std::string, std::string>();
    const ForeignRun& run = results->runs.at(0);
    return std::pair(text_of(run.series.at(0).contradiction), text_of(run.notes.back()));
  };
  const std::string of =
      "rows are NaN; the harness takes the first choice then, which is no answer "
      "of the model";
  EXPECT_EQ(sentence("NaN").first, "samples_t.jsonl: the log-probabilities of 2 of 2 " + of);
  EXPECT_EQ(sentence("\"-1.5\"").first, "");
  EXPECT_EQ(sentence("\"-1.5\"").second, "samples_t.jsonl: the log-probabilities of 1 of 2 " + of);
}

}  // namespace
}  // namespace nb
