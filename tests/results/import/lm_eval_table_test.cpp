#include <gtest/gtest.h>

#include "harness/base/fs.hpp"
#include "results/compare/compare.hpp"
#include "results/compare/headline.hpp"
#include "results/import/any_foreign.hpp"
#include "results/import/to_records.hpp"
#include "tests/results/import/foreign_text.hpp"
#include "tests/support/temp_dir.hpp"

namespace nb::test {
namespace {

using Lines = std::vector<std::string>;

constexpr const char* kModelLine =
    "vllm (pretrained=org/m-8B,dtype=bfloat16,max_model_len=4096), gen_kwargs: (None), limit: "
    "None, num_fewshot: 5, batch_size: auto\n";
constexpr const char* kHeader =
    "|Tasks|Version|     Filter     |n-shot|  Metric   |   |Value |   |Stderr|\n"
    "|-----|------:|----------------|-----:|-----------|---|-----:|---|-----:|\n";

ForeignRun only_run(const std::string& text) {
  const auto results = read_texts({{"t.md", text}});
  EXPECT_TRUE(results) << results.error().message;
  if (!results) return {};
  EXPECT_EQ(results->runs.size(), 1U);
  return results->runs.front();
}

TEST(LmEvalTable, EveryColumnIsKept) {
  const ForeignRun run =
      only_run(std::string(kModelLine) + kHeader +
               "|gsm8k|      3|flexible-extract|     5|exact_match|↑  |0.7847|±  |0.0113|\n"
               "|     |       |strict-match    |     5|exact_match|↑  |0.7688|±  |0.0116|\n"
               "|web  |    2.0|none            |     0|word_perplexity|↓|9.6770|±  |   N/A|\n");
  EXPECT_EQ(run.harness, "lm-evaluation-harness");
  EXPECT_EQ(run.model, "org/m-8B");
  EXPECT_EQ(series_lines(run), (Lines{"gsm8k:flexible-extract/exact_match 0.7847 0",
                                      "gsm8k:strict-match/exact_match 0.7688 0 primary",
                                      "web/word_perplexity 9.677 0 primary"}));
  EXPECT_EQ(run.series[1].must_match.at("version"), "3");  // stands in the first row alone
  EXPECT_EQ(run.series[0].reported_stderr, .0113);
  EXPECT_EQ(run.series[0].must_match, (std::map<std::string, std::string>{
                                          {"limit", "none"}, {"shots", "5"}, {"version", "3"}}));
  EXPECT_EQ(run.series[2].direction, Direction::kLower);
  EXPECT_EQ(run.series[2].must_match.at("version"), "2");
  EXPECT_FALSE(run.series[2].reported_stderr);
  EXPECT_EQ(run.provenance,
            (std::map<std::string, std::string>{{"backend", "vllm"},
                                                {"batch_size", "auto"},
                                                {"dtype", "bfloat16"},
                                                {"model_args", "max_model_len=4096"}}));
}

// The arguments are printed as Python writes a dictionary since 0.4.10.
TEST(LmEvalTable, ModelLinesOfAllReleasesNameTheModel) {
  const std::string row = "|piqa|1|none|0|acc|↑|0.79|±|0.0095|\n";
  EXPECT_EQ(only_run("hf ({'pretrained': 'org/m', 'dtype': 'auto'}), gen_kwargs: ({}), limit: "
                     "100.0, num_fewshot: None, batch_size: 8 (64)\n" +
                     (kHeader + row))
                .model,
            "org/m");
  const ForeignRun old = only_run(
      "hf-causal (pretrained=org/old), limit: None, provide_description: False, num_fewshot: 0, "
      "batch_size: None\n\n|Task|Version|Metric|Value |   "
      "|Stderr|\n|----|------:|------|-----:|---|"
      "-----:|\n|piqa|      0|acc   |0.6153|±  |0.0114|\n|    |       |acc_norm|0.6197|±  "
      "|0.0113|\n");
  EXPECT_EQ(old.model, "org/old");
  EXPECT_EQ(series_lines(old), (Lines{"piqa/acc 0.6153 0", "piqa/acc_norm 0.6197 0 primary"}));
}

// gsm8k was compared strict against flexible where the rows stood in another order.
TEST(LmEvalTable, TwoFiltersAreTwoScoresInAnyOrder) {
  const TempDir dir;
  const std::string flexible = "flexible-extract|5|exact_match|↑|0.78|±|0.0114|\n",
                    strict = "strict-match|5|exact_match|↑|0.20|±|0.0111|\n";
  ASSERT_TRUE(write_file(dir / "gpu.md", std::string(kModelLine) + kHeader + "|gsm8k|3|" +
                                             flexible +
                                             "| | |strict-match|5|exact_match|↑|0.77|±|"
                                             "0.0116|\n"));
  ASSERT_TRUE(write_file(
      dir / "a.md", std::string(kModelLine) + kHeader + "|gsm8k|3|" + flexible + "| | |" + strict));
  ASSERT_TRUE(write_file(
      dir / "b.md", std::string(kModelLine) + kHeader + "|gsm8k|3|" + strict + "| | |" + flexible));
  const auto gpu = read_any_run(dir / "gpu.md");
  ASSERT_TRUE(gpu) << gpu.error().message;
  for (const char* name : {"a.md", "b.md"}) {
    const auto npu = read_any_run(dir / name);
    ASSERT_TRUE(npu) << npu.error().message;
    const Comparison comparison = compare_runs(*gpu, *npu, PairAcross::kNothing);
    ASSERT_EQ(comparison.pairs.size(), 1U) << name;
    for (const MetricDifference& row : comparison.pairs[0].metrics) {
      const bool is_strict = row.name == "gsm8k:strict-match/exact_match";
      EXPECT_NEAR(*row.difference, is_strict ? -.57 : 0, 1e-12) << name << " " << row.name;
    }
  }
}

// 25 shots against none were "B is worse".
TEST(LmEvalTable, OtherShotsAndVersionsAreNotCompared) {
  const TempDir dir;
  ASSERT_TRUE(write_file(dir / "gpu.md",
                         std::string(kHeader) + "|arc|1|none|25|acc_norm|↑|0.54|±|0.0146|\n"));
  ASSERT_TRUE(write_file(dir / "npu.md",
                         std::string(kHeader) + "|arc|2|none|0|acc_norm|↑|0.46|±|0.0146|\n"));
  const auto gpu = read_any_run(dir / "gpu.md"), npu = read_any_run(dir / "npu.md");
  ASSERT_TRUE(gpu && npu);
  const Comparison comparison = compare_runs(*gpu, *npu, PairAcross::kNothing);
  EXPECT_NE(text_of(comparison.why_incomparable()).find("shots"), std::string::npos)
      << text_of(comparison.why_incomparable());
}

constexpr const char* kGroups =
    "|mmlu             |      2|none  |     0|acc   |↑  |0.6812|±  |0.0037|\n"
    "| - humanities    |      2|none  |     0|acc   |↑  |0.6210|±  |0.0067|\n"
    "|  - formal_logic |      1|none  |     5|acc   |↑  |0.5000|±  |0.0447|\n"
    "| - stem          |      2|none  |     0|acc   |↑  |0.5900|±  |0.0085|\n"
    "|  - anatomy      |      1|none  |     5|acc   |↑  |0.6444|±  |0.0414|\n";

TEST(LmEvalTable, GroupsAreReadByTheirIndentation) {
  const std::string groups =
      "\n|Groups|Version|Filter|n-shot|Metric|   |Value |   |Stderr|\n"
      "|------|------:|------|-----:|------|---|-----:|---|-----:|\n"
      "|mmlu             |      2|none  |     0|acc   |↑  |0.6812|±  |0.0037|\n"
      "| - humanities    |      2|none  |     0|acc   |↑  |0.6210|±  |0.0067|\n";
  const ForeignRun run = only_run(kHeader + std::string(kGroups) + groups);
  ASSERT_EQ(series_lines(run),
            (Lines{"mmlu/acc 0.6812 0 primary", "mmlu_humanities/acc 0.621 0 primary",
                   "mmlu_formal_logic/acc 0.5 0 primary", "mmlu_stem/acc 0.59 0 primary",
                   "mmlu_anatomy/acc 0.6444 0 primary"}));
  EXPECT_EQ(run.series[0].part_of, "");
  EXPECT_EQ(run.series[1].part_of, "mmlu");
  EXPECT_EQ(run.series[4].part_of, "mmlu_stem");
  // The harness prints 0 shots for groups whatever their tasks have.
  EXPECT_FALSE(run.series[0].must_match.contains("shots"));
  EXPECT_FALSE(run.series[3].must_match.contains("shots"));
  EXPECT_EQ(run.series[4].must_match.at("shots"), "5");
}

// Releases before 0.4.3 sorted the rows by name.
TEST(LmEvalTable, PartsBeforeTheirGroupHaveNone) {
  const ForeignRun run = only_run(std::string(kHeader) +
                                  "| - inv_a|0|none|0|acc|↑|0.44|±|0.02|\n"
                                  "|inv_mc|N/A|none|0|acc|↑|0.62|±|0.01|\n"
                                  "| - inv_b|0|none|0|acc|↑|0.53|±|0.02|\n");
  for (const ForeignSeries& one : run.series) EXPECT_EQ(one.part_of, "") << one.name.task;
  EXPECT_EQ(run.series.at(1).must_match.at("shots"), "0");
  EXPECT_FALSE(only_run(std::string(kHeader) + "| - inv_a|0|none|0|acc|↑|0.44|±|0.02|\n"
                                               "|inv_mc|N/A|none|0|acc|↑|0.62|±|0.01|\n\n"
                                               "|Groups|Version|Filter|n-shot|Metric|Value|\n"
                                               "|---|---|---|---|---|---|\n"
                                               "|inv_mc|N/A|none|0|acc|0.62|\n")
                   .series.at(1)
                   .must_match.contains("shots"));
  EXPECT_EQ(run.series.at(0).name.task, "inv_a");
  EXPECT_FALSE(run.series.at(1).must_match.contains("version"));
}

TEST(LmEvalTable, AnArrowThatContradictsTheMetricIsLeftOut) {
  const ForeignRun run = only_run(std::string(kHeader) +
                                  "|web|2|none|0|word_perplexity|↑|9.6|±|N/A|\n"
                                  "|own|1|none|0|my_penalty|↓|0.3|±|0.01|\n");
  EXPECT_EQ(run.series.at(0).direction, Direction::kLower);
  EXPECT_EQ(run.series.at(1).direction, Direction::kLower);
  ASSERT_EQ(run.notes.size(), 1U);
  EXPECT_NE(text_of(run.notes[0]).find("points up"), std::string::npos);
}

TEST(LmEvalTable, ReleaseReportsHaveTheArrowInTheCellAndTheModelInTheHeading) {
  const std::string header =
      "| Task | Filter | n-shot | Metric | Value | Stderr |\n|---|---:|---:|---|---:|---:|\n";
  const auto results =
      read_texts({{"report.md",
                   "# Accuracy of a release\n## Org-7B-Instruct\n  <div>\n"
                   "    <strong>Hardware Environment</strong>: Atlas A2 Series <br>\n"
                   "    <strong>Software Environment:</strong> CANN: 8.1.RC1, PyTorch: 2.5.1 "
                   "<br>\n  </div>\n\n" +
                       header +
                       "| exam-zh | none | 5 | acc | ↑ 0.8001 | ± 0.0105 |\n"
                       "| - exam-zh_law | none | 5 | acc | ***0.2303*** <----- | ± 0.0115 |\n"
                       "## Org-VL\n <strong>Hardware Environment</strong>: Atlas A2 Series\n"
                       "lm_eval --model vllm --model_args pretrained=org/vl,dtype=auto "
                       "--num_fewshot 3 \\\n\n" +
                       header + "| exam-zh | none |  | acc | ↑ 0.7001 ± 0.0107 |  |\n"}});
  ASSERT_TRUE(results) << results.error().message;
  ASSERT_EQ(results->runs.size(), 2U);
  const ForeignRun& first = results->runs[0];
  EXPECT_EQ(first.model, "Org-7B-Instruct");
  EXPECT_EQ(series_lines(first),
            (Lines{"exam-zh/acc 0.8001 0 primary", "exam-zh_law/acc 0.2303 0 primary"}));
  EXPECT_EQ(first.series[0].direction, Direction::kHigher);
  EXPECT_EQ(first.provenance.at("accelerator"), "Atlas A2 Series");
  EXPECT_EQ(first.provenance.at("cann"), "8.1.RC1");
  EXPECT_EQ(results->runs[1].model, "org/vl");
  EXPECT_EQ(results->runs[1].series.at(0).reported_stderr, .0107);
  EXPECT_EQ(results->runs[1].series.at(0).must_match.at("shots"), "3");
}

TEST(LmEvalTable, WhatNoFileNamesIsNoModel) {
  const std::string row = "|piqa|1|none|0|acc|↑|0.79|±|0.0095|\n";
  const ForeignRun run = only_run(kHeader + row);
  EXPECT_EQ(run.model, "");
  EXPECT_EQ(run.label, "t");
  // Two of one folder stay apart.
  const auto both = read_texts({{"a.md", kHeader + row}, {"b.md", kHeader + row}});
  ASSERT_TRUE(both) << both.error().message;
  const RunRecords records = records_of(*both);
  ASSERT_EQ(records.records.size(), 2U);
  EXPECT_EQ(records.records[0].record.name, "a");
  EXPECT_EQ(records.records[1].record.name, "b");
}

TEST(LmEvalTable, TwoTablesOfOneModelAreTwoRuns) {
  const std::string row = "|piqa|1|none|0|acc|↑|";
  const auto results =
      read_texts({{"t.md", std::string(kModelLine) + kHeader + row + "0.79|±|0.0095|\n\n" +
                               kModelLine + kHeader + row + "0.70|±|0.0095|\n"}});
  ASSERT_TRUE(results) << results.error().message;
  ASSERT_EQ(results->runs.size(), 2U);
  EXPECT_EQ(records_of(*results).records[1].record.name, "org/m-8B.t, table 2");
}

TEST(LmEvalTable, BoxesGridsQuotesAndLogsAreTablesToo) {
  const ForeignRun box = only_run(
      "┏━━━━━━━┳━━━━━━━━━┳━━━━━━━━━━━━━┳━━━━━━━━┳━━━┳━━━━━━━━┓\n"
      "┃ Task  ┃ Version ┃ Metric      ┃ Value  ┃   ┃ Stderr ┃\n"
      "┡━━━━━━━╇━━━━━━━━━╇━━━━━━━━━━━━━╇━━━━━━━━╇━━━╇━━━━━━━━┩\n"
      "│ gsm8k │ 3       │ exact_match │ 0.7847 │ ± │ 0.0113 │\n"
      "└───────┴─────────┴─────────────┴────────┴───┴────────┘\n");
  EXPECT_EQ(series_lines(box), Lines{"gsm8k/exact_match 0.7847 0 primary"});
  const ForeignRun grid = only_run(
      "+-------+-------------+--------+--------+\n| Tasks | Metric      | Value  | Stderr |\n"
      "+=======+=============+========+========+\n| gsm8k | exact_match | 0.7847 | 0.0113 |\n"
      "+-------+-------------+--------+--------+\n");
  EXPECT_EQ(series_lines(grid), Lines{"gsm8k/exact_match 0.7847 0 primary"});
  std::string log;
  for (int i = 0; i < 4000; ++i) log += "2026-06-01:10:00:00 INFO     [lm_eval] requests 7|8\n";
  const ForeignRun at_end =
      only_run(log + kModelLine + kHeader + "|piqa|1|none|0|acc|↑|0.79|±|0.0095|\n");
  EXPECT_EQ(at_end.model, "org/m-8B");
}

TEST(LmEvalTable, LightevalsTableIsItsOwn) {
  const ForeignRun run = only_run(
      "|      Task       |Version|     Metric     |Value |   |Stderr|\n"
      "|-----------------|------:|----------------|-----:|---|-----:|\n"
      "|all              |       |extractive_match|0.3667|±  |0.0895|\n"
      "|custom:aime2024:0|      1|extractive_match|0.3667|±  |0.0895|\n");
  EXPECT_EQ(run.harness, "lighteval");
  EXPECT_EQ(series_lines(run), (Lines{"all/extractive_match 0.3667 0",
                                      "custom|aime2024/extractive_match 0.3667 0 primary"}));
  EXPECT_EQ(run.series[1].must_match.at("shots"), "0");
}

TEST(LmEvalTable, PercentagesOfOneMetricAreAllPercentages) {
  const ForeignRun run = only_run(std::string(kHeader) +
                                  "|a|1|none|0|acc|↑|78.47|±|1.13|\n|b|1|none|0|acc|↑|0.61|±|0.6|\n"
                                  "|c|1|none|0|bits_per_byte|↓|0.62|±|N/A|\n");
  EXPECT_EQ(series_lines(run), (Lines{"a/acc 0.7847 0 primary", "b/acc 0.0061 0 primary",
                                      "c/bits_per_byte 0.62 0 primary"}));
  EXPECT_DOUBLE_EQ(*run.series.at(0).reported_stderr, .0113);
}

TEST(LmEvalTable, MistakesAreNamedWithTheirLine) {
  EXPECT_EQ(read_texts({{"t.md", std::string(kHeader) + "|a|1|none|0|acc|↑|many|±|0.01|\n"}})
                .error()
                .message,
            "t.md:3: a: \"many\" is not a number");
}

// Its log lies beside the results and says the same.
TEST(LmEvalTable, TheTableOfALogBesideItsResultsIsNoSecondRun) {
  const auto results =
      read_texts({{"m/results_2026-06-01T10-00-00.json",
                   R"({"results": {"piqa": {"acc,none": 0.790012, "acc_stderr,none": 0.0095}},
            "versions": {"piqa": 1}, "n-shot": {"piqa": 0}, "configs": {},
            "config": {"model": "vllm", "model_args": "pretrained=org/m-8B"}})"},
                  {"m/run.log",
                   std::string(kModelLine) + kHeader + "|piqa|1|none|0|acc|↑|0.7900|±|0.0095|\n"}});
  ASSERT_TRUE(results) << results.error().message;
  EXPECT_EQ(results->runs.size(), 1U);
  ASSERT_EQ(results->ignored.size(), 1U);
  EXPECT_EQ(text_of(results->ignored[0]),
            "m/run.log: its table repeats m/results_2026-06-01T10-00-00.json");
}

}  // namespace
}  // namespace nb::test
