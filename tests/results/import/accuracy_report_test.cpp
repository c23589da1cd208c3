#include <gtest/gtest.h>

#include "results/import/formats.hpp"
#include "tests/results/import/expected.hpp"
#include "tests/results/import/foreign_text.hpp"

namespace nb {
namespace {

using test::read_texts;
using test::series_lines;
using Lines = std::vector<std::string>;

constexpr const char* kReport =
    "# a/b\n\n"
    "- **vLLM Version**: vLLM: 0.10.1.1 ([1da94e6](https://x)), **vLLM Ascend Version**: "
    "v0.10.1rc1 "
    "([7e16b4a](https://y))  \n"
    "- **Software Environment**: **CANN**: 8.3.RC1, **PyTorch**: 2.7.1, **torch-npu**: 2.7.1.dev  "
    "\n"
    "- **Hardware Environment**: Atlas A2 Series  \n- **Parallel mode**: TP2\n\n"
    "```bash\nlm_eval --model vllm --tasks gsm8k \\\n  --num_fewshot 5 \\\n  --batch_size "
    "auto\n```\n\n"
    "| Task                  | Metric      | Value     | Stderr |\n"
    "|-----------------------|-------------|----------:|-------:|\n"
    "| gsm8k | exact_match,strict-match | ✅0.3813 | ± 0.0134 |\n"
    "| gsm8k | exact_match,flexible-extract | ❌0.3836 | ± 0.0134 |\n"
    "| ceval | acc,none | 0.71 | ± 0.01 |\n";

TEST(AccuracyReport, MarksArePartOfTheCellAndDetailsRepeatTheSummary) {
  const std::string repeated =
      std::string(kReport) +
      "\n<details>\n\n| Task | Metric | Value | Stderr |\n|---|---|---|---|\n"
      "| ceval | acc,none | 0.71 | ± 0.01 |\n";
  const auto results = read_texts({{"r.txt", repeated}});
  ASSERT_TRUE(results) << results.error().message;
  const ForeignRun& run = results->runs.at(0);
  EXPECT_EQ(run.harness, "lm-evaluation-harness");
  EXPECT_EQ(run.model, "a/b");
  EXPECT_EQ(series_lines(run),
            (Lines{"gsm8k:strict-match/exact_match 0.3813 0 primary",
                   "gsm8k:flexible-extract/exact_match 0.3836 0", "ceval/acc 0.71 0 primary"}));
  EXPECT_EQ(run.series[0].reported_stderr, 0.0134);
  EXPECT_EQ(run.series[0].must_match.at("shots"), "5");
  EXPECT_EQ(texts_of(run.notes),
            Lines{"gsm8k exact_match,flexible-extract 0.3836 is marked as failed in r.txt"});
  EXPECT_EQ(run.provenance, (std::map<std::string, std::string>{{"accelerator", "Atlas A2 Series"},
                                                                {"backend", "vllm"},
                                                                {"batch_size", "auto"},
                                                                {"cann", "8.3.RC1"},
                                                                {"parallel", "TP2"},
                                                                {"report", "vllm-ascend"},
                                                                {"torch", "2.7.1"},
                                                                {"torch_npu", "2.7.1.dev"},
                                                                {"vllm", "0.10.1.1"},
                                                                {"vllm_ascend", "v0.10.1rc1"}}));
}

TEST(AccuracyReport, BadRowsAreNamedWithTheirLine) {
  std::string text = kReport;
  text.replace(text.find("0.3813"), 6, "many");
  EXPECT_EQ(read_texts({{"r.txt", text}}).error().message,
            "r.txt:16: \"✅many\" of gsm8k exact_match,strict-match is no value");
  text = std::string(kReport) + "|\n";
  EXPECT_EQ(read_texts({{"r.txt", text}}).error().message,
            "r.txt:19: a row of the table has fewer than 4 cells");
  text = std::string(kReport) + "| ceval | acc,none | 0.72 | ± 0.01 |\n";
  EXPECT_EQ(read_texts({{"r.txt", text}}).error().message,
            "r.txt:19: ceval acc,none is 0.72 here and 0.71 above");
}

TEST(AccuracyReport, RealOneHasItsTwoRows) {
  NB_NEEDS_IMPORTS();
  const auto entries =
      test::expected("files", "npu_accuracy/vllm-project__vllm-ascend/accuracy_report");
  ASSERT_EQ(entries.size(), 1u);
  const auto results = read_foreign(test::imports_dir() / entries[0].at("file").get<std::string>());
  ASSERT_TRUE(results) << results.error().message;
  const ForeignRun& run = results->runs.at(0);
  EXPECT_EQ(run.series.size(), entries[0].at("distinct").get<std::size_t>());
  const auto& first = entries[0].at("first");
  EXPECT_EQ(run.series[0].name.task, first[0].get<std::string>());
  EXPECT_EQ(run.series[0].name.metric + "," + run.series[0].name.filter,
            first[1].get<std::string>());
  EXPECT_EQ(run.series[0].reported, 0.3813);
  EXPECT_EQ(run.provenance.at("cann"), "8.3.RC1");
  EXPECT_EQ(texts_of(run.notes), Lines{});
}

constexpr const char* kExpectation =
    "model_name: \"a/b\"\nmodel_type: \"vllm\"\nhardware: \"Atlas A2 Series\"\n\nserve:\n"
    "  dtype: auto\n  max_model_len: 4096\n\ntasks:\n- name: \"gsm8k\"\n  metrics:\n"
    "  - name: \"exact_match,strict-match\"\n    value: 0.765\n"
    "  - name: \"exact_match,flexible-extract\"\n    value: 0.81\n\nnum_fewshot: 5\n"
    "batch_size: \"auto\"\n";

TEST(AccuracyExpectation, IsARunOfItsOwnThatSaysWhatItIs) {
  const auto results = read_texts({{"e.yaml", kExpectation}});
  ASSERT_TRUE(results) << results.error().message;
  const ForeignRun& run = results->runs.at(0);
  EXPECT_EQ(run.stage, "expected");
  EXPECT_EQ(series_lines(run), (Lines{"gsm8k:strict-match/exact_match 0.765 0 primary",
                                      "gsm8k:flexible-extract/exact_match 0.81 0"}));
  EXPECT_EQ(run.series[0].must_match.at("shots"), "5");
  EXPECT_EQ(run.provenance.at("model_args"), "max_model_len=4096");
  EXPECT_EQ(texts_of(run.notes), Lines{"its values are expectations of a test, not measured"});
}

TEST(AccuracyExpectation, MistakesAreNamedWithTheirLine) {
  std::string text = kExpectation;
  text.replace(text.find("0.765"), 5, ".nan ");
  EXPECT_EQ(read_texts({{"e.yaml", text}}).error().message,
            "e.yaml:12: the metric's value \".nan\" is no number");
  text = kExpectation;
  text.replace(text.find("flexible-extract"), 16, "strict-match");
  EXPECT_EQ(read_texts({{"e.yaml", text}}).error().message,
            "e.yaml:14: gsm8k exact_match,strict-match is expected twice");
  text = kExpectation;
  text.replace(text.find("\"gsm8k\""), 7, "\"gsm8k");
  EXPECT_TRUE(read_texts({{"e.yaml", text}}).error().message.starts_with("e.yaml:"));
}

TEST(AccuracyExpectation, RealOnesHaveTheEntriesOfAnIndependentScript) {
  NB_NEEDS_IMPORTS();
  int files = 0;
  for (const auto& entry :
       test::expected("files", "npu_accuracy/vllm-project__vllm-ascend/configs")) {
    ++files;
    const auto results = read_foreign(test::imports_dir() / entry.at("file").get<std::string>());
    ASSERT_TRUE(results) << results.error().message;
    const ForeignRun& run = results->runs.at(0);
    // In the order of the file: model_name, hardware, then name (of a task or a metric) and value.
    std::size_t series = 0;
    std::string name;
    for (const auto& fact : entry.at("entries")) {
      const std::string key = fact[0], value = fact[1];
      if (key == "model_name") {
        EXPECT_EQ(run.model, value);
      }
      if (key == "hardware") {
        EXPECT_EQ(run.provenance.at("accelerator"), value);
      }
      if (key == "value") {
        const ForeignSeries& one = run.series.at(series++);
        EXPECT_EQ(one.reported, std::stod(value));
        EXPECT_TRUE(name.starts_with(one.name.metric)) << name;
      }
      if (key == "name") name = value;
    }
    EXPECT_EQ(series, run.series.size());
  }
  EXPECT_EQ(files, 11);
}

// The title was taken to be longer than its "#": undefined behaviour.
TEST(AccuracyReport, ATitleWithoutAModelNamesNone) {
  const auto results = read_texts(
      {{"r.md",
        "# \n|Task|Metric|Value|Stderr|\n|---|---|---|---|\n|gsm8k|exact_match|0.5|0.01|\n"}});
  ASSERT_TRUE(results) << results.error().message;
  EXPECT_EQ(results->runs.at(0).model, "");
  EXPECT_EQ(series_lines(results->runs.at(0)), Lines{"gsm8k/exact_match 0.5 0 primary"});
}

}  // namespace
}  // namespace nb
