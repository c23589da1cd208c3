// The first screen: who is compared, of what and when, and the numbers to take away.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "report/head_names.hpp"
#include "report/key_figures.hpp"
#include "report/sections.hpp"
#include "tests/report/has.hpp"
#include "tests/results/fake_run.hpp"

namespace nb {
namespace {

using test::even;
using test::FakeRun;

// What another harness' file says of a run.
void add_foreign(FakeRun& run, const Json& imported, const std::string& model,
                 const std::function<bool(int)>& right) {
  run.add_evaluation("", 1, "", {{"gsm8k", 40, right}}, [&](Record& record) {
    record.settings = Json{{"imported", imported}};
    record.environment = Json::object();
    record.subject = {{"model", model}};
    record.trained_on.clear();
  });
}

Json said(const char* device, const char* dtype, const char* date) {
  Json imported = {{"harness", "lm-evaluation-harness"}, {"version", "0.4.9"}};
  imported["device"] = device;
  imported["dtype"] = dtype;
  imported["date"] = date;
  imported["series"]["gsm8k/accuracy"]["share"] = true;
  return imported;
}

TEST(ReportHead, NamesWhoIsComparedOfWhatAndWhen) {
  FakeRun gpu("gpu_results"), npu("npu_results");
  add_foreign(gpu, said("cuda:0", "bfloat16", "2026-10-23 08:00:00"), "Example-1B", even);
  add_foreign(npu, said("npu:0", "float16", "2026-11-02T08:00:00"), "Example-1B", test::always);
  const RunRecords a = gpu.read(), b = npu.read();
  ReportInput input{"x", &b, {compare_runs(a, b)}, {}, {}};
  const HeadNames names = head_names(Words(), input);
  EXPECT_EQ(names.title, "NPU against GPU: Example-1B");
  EXPECT_EQ(
      names.subtitle,
      "23 October 2026 to 2 November 2026 · lm-evaluation-harness 0.4.9 on both sides · A, the "
      "baseline: gpu_results (bfloat16, cuda:0) · B, the candidate: npu_results (float16, npu:0)");
  EXPECT_TRUE(
      test::has(head_names(Words(Language::kZh), input).subtitle, "2026年10月23日至2026年11月2日"));
  const auto figures = key_figures(Words(), input.comparisons.front(), names).figures;
  ASSERT_EQ(figures.size(), 2U);
  EXPECT_EQ(figures[0].value, "200.0 %");
  EXPECT_EQ(figures[0].text, "of the score of GPU");
  EXPECT_EQ(figures[1].value, "20 of 40");
  EXPECT_EQ(figures[1].text, "paired answers changed: 0 lost, 20 won");
}

// A folder's name is no device, and no date is no date.
TEST(ReportHead, WhatNoFileSaysIsNotSaid) {
  FakeRun gpu("gpu_results"), npu("npu_results");
  add_foreign(gpu, {{"harness", "x"}, {"date", "yesterday"}}, "m", even);
  add_foreign(npu, {{"harness", "y"}}, "m", even);
  const RunRecords a = gpu.read(), b = npu.read();
  const HeadNames names = head_names(Words(), {"x", &b, {compare_runs(a, b)}, {}, {}});
  EXPECT_EQ(names.title, "npu_results against gpu_results: m");
  EXPECT_EQ(names.subtitle,
            "A by x, B by y · A, the baseline: gpu_results · B, the candidate: npu_results");
}

// Of answers that may not be judged none is counted, and 1970 is no day.
TEST(ReportHead, WhatIsIncomparableHasNoFigures) {
  FakeRun gpu("gpu"), npu("npu");
  for (FakeRun* run : {&gpu, &npu})
    run->add_evaluation("", 1, "", {{"gsm8k", 40, even}}, [&](Record& record) {
      record.settings = Json{{"imported", said("cuda", "bf16", "1970-01-01")}};
      record.environment = Json::object();
      record.subject = {{"model", "m"}};
      record.trained_on.clear();
      record.comparability["gsm8k/shots"] = run == &gpu ? "5" : "0";
    });
  const RunRecords a = gpu.read(), b = npu.read();
  const ReportInput input{"x", &b, {compare_runs(a, b)}, {}, {}};
  ASSERT_FALSE(input.comparisons.front().why_incomparable().empty());
  const HeadNames names = head_names(Words(), input);
  EXPECT_TRUE(names.subtitle.starts_with("lm-evaluation-harness")) << names.subtitle;
  EXPECT_TRUE(key_figures(Words(), input.comparisons.front(), names).figures.empty());
}

TEST(ReportHead, TheGpuIsTheBaselineOfARunsDevices) {
  FakeRun run;
  run.add_training("ascend_910b3", 1, 1.884, 1e-4);
  run.add_training("h100_sxm", 1, 1.880);
  const RunRecords records = run.read();
  const auto is_gpu = [](const std::string& device) { return device == "h100_sxm"; };
  const auto comparisons = device_comparisons(records, is_gpu);
  ASSERT_EQ(comparisons.size(), 1U);
  EXPECT_EQ(comparisons[0].label_a, "h100_sxm");
  EXPECT_EQ(head_names(Words(), {"smoke", &records, comparisons, {}, {}}).title,
            "ascend_910b3 against h100_sxm: smoke");
}

}  // namespace
}  // namespace nb
