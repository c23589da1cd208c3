#include <gtest/gtest.h>

#include "results/import/formats.hpp"
#include "tests/results/import/expected.hpp"
#include "tests/results/import/foreign_text.hpp"

namespace nb {
namespace {

using test::read_texts;
using test::series_lines;
using Lines = std::vector<std::string>;

// A run of lm-eval 0.4.9 with a limit, two filters, a group and a stderr that is not there.
constexpr const char* kResults04 = R"({
  "results": {
    "gsm8k": {"alias": "gsm8k", "exact_match,flexible-extract": 0.5,
              "exact_match_stderr,flexible-extract": 0.1, "exact_match,strict-match": 0.25,
              "exact_match_stderr,strict-match": "N/A"},
    "arc_easy": {"alias": " - arc_easy", "sample_len": 50, "acc,none": 0.6, "acc_stderr,none": 0.07,
                 "acc_norm,none": 0.5, "acc_norm_stderr,none": 0.071},
    "wikitext": {"alias": "wikitext", "bits_per_byte,none": 0.9, "bits_per_byte_stderr,none": "N/A"},
    "group": {"alias": "group", "acc,none": 0.6, "acc_stderr,none": "N/A"},
    "empty_group": {" ": " ", "alias": "empty_group"}
  },
  "groups": {"group": {"alias": "group", "acc,none": 0.6}},
  "group_subtasks": {"group": ["arc_easy"], "gsm8k": []},
  "configs": {"gsm8k": {"doc_to_text": "Q: {{question}}", "repeats": 1},
              "arc_easy": {"num_fewshot": 25, "repeats": 1}},
  "versions": {"gsm8k": 3.0, "arc_easy": 1},
  "n-shot": {"gsm8k": 5},
  "higher_is_better": {"gsm8k": {"exact_match": true}},
  "n-samples": {"gsm8k": {"original": 1319, "effective": 40},
                "arc_easy": {"original": 50, "effective": 50}},
  "config": {"model": "vllm", "model_args": "pretrained=a/b,dtype=float16,max_model_len=2048",
             "batch_size": "auto", "device": "npu:0", "limit": 40.0, "random_seed": 0,
             "numpy_seed": 1234, "torch_seed": 1234, "fewshot_seed": 1234},
  "git_hash": "afd9887", "date": 1772674299.08,
  "pretty_env_info": "PyTorch version: 2.9.1\nGPU models and configuration: \nGPU 0: X1\nGPU 1: X1\nCPU:",
  "lm_eval_version": "0.4.9", "model_name": "a/b", "model_name_sanitized": "a__b",
  "chat_template_sha": "0123456789abcdef", "system_instruction_sha": null,
  "task_hashes": {"gsm8k": "41e40c718b7d0f2fa48da7"}
})";

TEST(LmEvalResults, ScoresWithTheirFiltersGroupsAndLimit) {
  const auto results = read_texts({{"results_2026-03-05T01-42-01.144314.json", kResults04}});
  ASSERT_TRUE(results) << results.error().message;
  ASSERT_EQ(results->runs.size(), 1u);
  const ForeignRun& run = results->runs[0];
  EXPECT_EQ(run.model, "a/b");
  EXPECT_EQ(run.stage, "");
  EXPECT_EQ(series_lines(run), (Lines{"arc_easy/acc 0.6 50", "arc_easy/acc_norm 0.5 50 primary",
                                      "group/acc 0.6 50 primary",  // as many as its task has
                                      "gsm8k:flexible-extract/exact_match 0.5 40",
                                      "gsm8k:strict-match/exact_match 0.25 40 primary",
                                      "wikitext/bits_per_byte 0.9 0 primary"}));
  const ForeignSeries& strict = run.series[4];
  EXPECT_FALSE(strict.reported_stderr);
  EXPECT_EQ(run.series[3].reported_stderr, 0.1);
  EXPECT_EQ(strict.available_n, 1319);
  EXPECT_EQ(strict.must_match, (std::map<std::string, std::string>{
                                   {"samples", "1"}, {"shots", "5"}, {"version", "3"}}));
  EXPECT_EQ(run.series[0].must_match.at("shots"), "25");
  EXPECT_EQ(run.series[5].direction, Direction::kLower);
  EXPECT_EQ(run.series[5].unit, "bit/byte");
}

TEST(LmEvalResults, ProvenanceIsWhatTheFileSays) {
  const auto results = read_texts({{"results_2026-03-05T01-42-01.144314.json", kResults04}});
  ASSERT_TRUE(results) << results.error().message;
  auto provenance = results->runs.at(0).provenance;
  EXPECT_EQ(provenance["template:gsm8k"].size(), 12u);
  std::erase_if(provenance, [](const auto& one) { return one.first.starts_with("template:"); });
  EXPECT_EQ(provenance, (std::map<std::string, std::string>{
                            {"accelerator", "2 x X1"},
                            {"backend", "vllm"},
                            {"batch_size", "auto"},
                            {"commit", "afd9887"},
                            {"date", "2026-03-05 01:31:39"},
                            {"device", "npu:0"},
                            {"dtype", "float16"},
                            {"limit", "40.0"},
                            {"model_args", "max_model_len=2048"},
                            {"seed", "0, numpy 1234, torch 1234, few-shot 1234"},
                            {"system_instruction", "none"},
                            {"task_hash:gsm8k", "41e40c718b7d"},
                            {"template", "0123456789ab"},
                            {"torch", "2.9.1"},
                            {"version", "0.4.9"}}));
}

TEST(LmEvalResults, AGroupIsJudgedAndHoldsItsTasks) {
  const auto results = read_texts({{"results_2026-03-05T01-42-01.144314.json", R"({
    "results": {"mmlu": {"acc,none": 0.5, "acc_stderr,none": 0.02},
                "mmlu_stem": {"acc,none": 0.5, "acc_stderr,none": 0.03},
                "mmlu_anatomy": {"acc,none": 0.5}, "mmlu_physics": {"acc,none": 0.5},
                "mmlu_law": {"acc,none": 0.5}, "piqa": {"acc,none": 0.7}},
    "group_subtasks": {"mmlu": ["mmlu_stem", "mmlu_law"], "piqa": [],
                       "mmlu_stem": ["mmlu_anatomy", "mmlu_physics"]},
    "versions": {}, "n-samples": {"mmlu_anatomy": {"original": 135, "effective": 135},
      "mmlu_physics": {"original": 102, "effective": 102},
      "mmlu_law": {"original": 1534, "effective": 1534}},
    "configs": {"piqa": {"generation_kwargs": {"temperature": 0.7, "until": ["\n"]}}},
    "max_length": 4096, "config": {"model": "hf", "model_args": "pretrained=a/b"}})"}});
  ASSERT_TRUE(results) << results.error().message;
  const ForeignRun& run = results->runs.at(0);
  EXPECT_EQ(series_lines(run),
            (Lines{"mmlu/acc 0.5 1771 primary", "mmlu_anatomy/acc 0.5 135 primary",
                   "mmlu_law/acc 0.5 1534 primary", "mmlu_physics/acc 0.5 102 primary",
                   "mmlu_stem/acc 0.5 237 primary", "piqa/acc 0.7 0 primary"}));
  Lines groups;
  for (const ForeignSeries& one : run.series) groups.push_back(one.part_of);
  EXPECT_EQ(groups, (Lines{"", "mmlu_stem", "mmlu", "mmlu_stem", "mmlu", ""}));
  EXPECT_EQ(run.provenance.at("temperature:piqa"), "0.7");
  EXPECT_EQ(run.provenance.at("until:piqa"), R"(["\n"])");
  EXPECT_EQ(run.provenance.at("max_length"), "4096");
}

std::string results_03(const std::string& revision, int shots, const std::string& acc) {
  return R"({"results": {"piqa": {"acc": )" + acc + R"(, "acc_stderr": 0.01, "acc_norm": 0.7,
    "acc_norm_stderr": 0.01}, "lambada": {"ppl": 7.5, "ppl_stderr": 0.2, "acc": 0.5}},
    "versions": {"piqa": 0, "lambada": 0}, "config": {"model": "hf-causal", "model_args":
    "pretrained=EleutherAI/pythia,revision=)" +
         revision + R"(", "num_fewshot": )" + std::to_string(shots) + R"(, "limit": null}})";
}

TEST(LmEvalResults, PlainKeysOfRelease03) {
  const auto results = read_texts({{"1b.json", results_03("step1000", 5, "0.6")}});
  ASSERT_TRUE(results) << results.error().message;
  const ForeignRun& run = results->runs.at(0);
  EXPECT_EQ(run.model, "EleutherAI/pythia");
  EXPECT_EQ(run.stage, "step1000");
  EXPECT_EQ(run.provenance.at("version"), "0.3");
  EXPECT_EQ(series_lines(run), (Lines{"lambada/acc 0.5 0 primary", "lambada/ppl 7.5 0",
                                      "piqa/acc 0.6 0", "piqa/acc_norm 0.7 0 primary"}));
  EXPECT_EQ(run.series[1].direction, Direction::kLower);
  EXPECT_EQ(run.series[2].must_match.at("shots"), "5");
}

TEST(LmEvalResults, TheSameTaskWithOtherShotsIsAnotherRun) {
  const auto results = read_texts(
      {{"five.json", results_03("main", 5, "0.6")}, {"zero.json", results_03("main", 0, "0.5")}});
  ASSERT_TRUE(results) << results.error().message;
  ASSERT_EQ(results->runs.size(), 2u);
  EXPECT_EQ(results->runs[0].stage, "");
  EXPECT_EQ(results->runs[1].stage, "0-shot");
  EXPECT_EQ(results->runs[1].series.at(2).reported, 0.5);
}

TEST(LmEvalResults, OfTwoTimesTheLaterCounts) {
  std::string later = kResults04;
  later.replace(later.find("0.25"), 4, "0.75");
  const auto results = read_texts({{"x/results_2026-03-05T01-42-01.1.json", later},
                                   {"y/results_2026-03-04T23-00-00.2.json", kResults04}});
  ASSERT_TRUE(results) << results.error().message;
  ASSERT_EQ(results->runs.size(), 1u);
  EXPECT_EQ(series_lines(results->runs[0]).at(4), "gsm8k:strict-match/exact_match 0.75 40 primary");
  const auto notes = texts_of(results->runs[0].notes);
  EXPECT_NE(std::find(notes.begin(), notes.end(),
                      "gsm8k is there twice: the later counts, x/results_2026-03-05T01-42-01.1.json"
                      "; y/results_2026-03-04T23-00-00.2.json is left out"),
            notes.end());
}

TEST(LmEvalResults, DamagedFilesAreNamed) {
  const std::string whole = kResults04;
  const auto error = [](const std::string& text) {
    const auto results = read_texts({{"results.json", text}});
    return results ? std::string("none") : results.error().message;
  };
  EXPECT_TRUE(error(whole.substr(0, whole.size() - 40)).starts_with("results.json:"))
      << error(whole.substr(0, whole.size() - 40));
  EXPECT_EQ(error(R"({"results": {"a": 5}, "versions": {}})"),
            "results.json: /results/a is no object of metrics");
}

TEST(LmEvalResults, NaNIsLeftOutWithANote) {
  std::string broken = kResults04;
  broken.replace(broken.find("0.25"), 4, "NaN ");
  broken.replace(broken.find("0.07,"), 4, "NaN ");
  const auto results = read_texts({{"results.json", broken}});
  ASSERT_TRUE(results) << results.error().message;
  const ForeignRun& run = results->runs.at(0);
  EXPECT_FALSE(run.series[0].reported_stderr);
  EXPECT_EQ(series_lines(run).at(4), "gsm8k:strict-match/exact_match absent 40 primary");
  EXPECT_EQ(texts_of(run.notes),
            Lines{"results.json: gsm8k exact_match,strict-match is NaN, so it is left out"});
}

TEST(LmEvalResults, AbsurdDatesAndCountsAreAsIfNotThere) {
  std::string text = kResults04;
  text.replace(text.find("1772674299.08"), 13, "1e308");
  text.replace(text.find("\"effective\": 40"), 15, "\"effective\": 1e99");
  const auto results = read_texts({{"results.json", text}});
  ASSERT_TRUE(results) << results.error().message;
  EXPECT_EQ(results->runs.at(0).provenance.count("date"), 0u);
  EXPECT_EQ(results->runs[0].series.at(4).reported_n, 0);
}

TEST(LmEvalResults, RealFilesSayWhatAnIndependentScriptRead) {
  NB_NEEDS_IMPORTS();
  int files = 0;
  for (const auto& entry : test::expected("files", "lm_eval/")) {
    if (entry.at("harness") != "lm-eval results") continue;
    ++files;
    const std::string file = entry.at("file");
    const auto results = read_foreign(test::imports_dir() / file);
    ASSERT_TRUE(results) << results.error().message;
    ASSERT_EQ(results->runs.size(), 1u) << file;
    const ForeignRun& run = results->runs[0];
    EXPECT_EQ(run.series.size(), entry.at("metrics").get<std::size_t>()) << file;
    EXPECT_NE(entry.at("model").get<std::string>().find(run.model), std::string::npos) << file;
    std::set<std::string> tasks;
    for (const ForeignSeries& one : run.series) {
      tasks.insert(one.name.task);
      const bool is_04 = entry.at("style") != "0.3 (plain metric)";
      const auto key = one.name.task + " " + one.name.metric + (is_04 ? ",none" : "");
      if (entry.at("first").contains(key)) {
        EXPECT_EQ(one.reported, entry["first"][key][0].get<double>()) << file << key;
        EXPECT_EQ(one.reported_stderr, entry["first"][key][1].get<double>()) << file << key;
      }
      if (!entry.at("n_samples").is_object()) continue;
      const auto& n = entry["n_samples"][one.name.task];
      EXPECT_EQ(one.reported_n, n["effective"].get<std::int64_t>());
      EXPECT_EQ(one.available_n, n["original"].get<std::int64_t>());
    }
    EXPECT_EQ(tasks.size(), entry.at("tasks").get<std::size_t>()) << file;
  }
  EXPECT_EQ(files, 16);
}

TEST(LmEvalResults, RealTablesDifferAsAnIndependentScriptFound) {
  NB_NEEDS_IMPORTS();
  const auto entries = test::expected("tables", "lm_eval/");
  EXPECT_EQ(entries.size(), 8u);
  for (const auto& entry : entries) {
    const auto a = read_foreign(test::imports_dir() / entry.at("a").get<std::string>());
    const auto b = read_foreign(test::imports_dir() / entry.at("b").get<std::string>());
    ASSERT_TRUE(a && b);
    std::map<SeriesName, double> of_a;
    for (const auto& one : a->runs.at(0).series) of_a[one.name] = one.reported.value();
    int common = 0, a_higher = 0, b_higher = 0, equal = 0;
    for (const auto& one : b->runs.at(0).series) {
      const auto at = of_a.find(one.name);
      if (at == of_a.end()) continue;
      ++common;
      a_higher += at->second > one.reported.value();
      b_higher += at->second < one.reported.value();
      equal += at->second == one.reported.value();
    }
    EXPECT_EQ(common, entry.at("metrics_in_common").get<int>());
    EXPECT_EQ(a_higher, entry.at("a_higher").get<int>());
    EXPECT_EQ(b_higher, entry.at("b_higher").get<int>());
    EXPECT_EQ(equal, entry.at("equal").get<int>());
  }
}

}  // namespace
}  // namespace nb
