// Report cards, published and CSV tables through import and compare: two stages of one, and two of
// them. Golden z and p: tests/golden/audit.py.
#include <gtest/gtest.h>

#include <cctype>
#include <cmath>
#include <nlohmann/json.hpp>

#include "results/audit/to_foreign.hpp"
#include "results/compare/compare.hpp"
#include "results/compare/stage_gain.hpp"
#include "results/import/to_records.hpp"
#include "results/stats/stats.hpp"
#include "tests/results/audit/audit_case.hpp"

namespace nb::test {
namespace {

RunRecords run_of(std::string_view table) { return records_of(foreign_of(table_from(table))); }

const StageGain* gain_of(const StageGains& gains, const std::string& metric) {
  for (const StageGain& gain : gains.gains)
    if (gain.metric == metric) return &gain;
  ADD_FAILURE() << "no " << metric;
  return nullptr;
}

std::string metric_of(const Json& row) {
  const auto task = row["task"].get<std::string>();
  for (const auto& [label, id] :
       {std::pair("ARC-Easy", "chat_arc_easy"), std::pair("ARC-Challenge", "chat_arc_challenge"),
        std::pair("MMLU", "mmlu"), std::pair("GSM8K", "gsm8k"), std::pair("HumanEval", "humaneval"),
        std::pair("SpellingBee", "spellingbee")})
    if (task == label) return std::string(id) + "/accuracy";
  return task;
}

std::string stage_upper(const StoredRecord& stored) {
  std::string stage = stage_of(stored.record);
  for (char& c : stage) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return stage;
}

// HumanEval falls from 20 to 3 of 164 while ChatCORE rises.
TEST(ReportedStages, ALossThatTheAggregateHidesIsNamed) {
  const auto run = read_any_run("published:ascend_910c_d32");
  ASSERT_TRUE(run) << run.error().message;
  const auto gains = stage_gains(*run, "SFT", "RL");
  ASSERT_TRUE(gains) << gains.error().message;
  EXPECT_EQ(stage_headline(*gains),
            "rl after sft: better in gsm8k; worse in humaneval; not established in 5");
  for (const Json& row : audit_golden()["sft_to_rl"]) {
    const StageGain* gain = gain_of(*gains, metric_of(row));
    ASSERT_NE(gain, nullptr);
    EXPECT_NEAR(gain->difference, row["difference"].get<double>(), 1e-12);
    EXPECT_NEAR(*gain->p, row["p"].get<double>(), 1e-9 * row["p"].get<double>() + 1e-13);
    EXPECT_NEAR(*gain->p_holm, row["p_holm"].get<double>(), 1e-9);
    ASSERT_TRUE(gain->interval95);
  }
  const StageGain* composite = gain_of(*gains, "chatcore/reported");
  ASSERT_NE(composite, nullptr);
  EXPECT_GT(composite->difference, 0);
  EXPECT_FALSE(composite->p);
  const std::string text = stage_gains_text(*gains);
  EXPECT_NE(text.find("d32.sft, d32.rl"), std::string::npos) << text;
  EXPECT_NE(text.find("without answers to items"), std::string::npos) << text;
  const Json json = stage_gains_json(*gains);
  EXPECT_EQ(json["schema"], "npubench.stages/1");
  EXPECT_TRUE(json["devices"].empty()) << "nothing was evaluated here";
}

// Named before looking, a metric is a family of its own.
TEST(ReportedStages, OneMetricIsNotCorrectedForTheOthers) {
  const auto run = read_any_run("published:ascend_910c_d32");
  const auto gains = stage_gains(*run, "sft", "rl", {"humaneval"});
  ASSERT_TRUE(gains) << gains.error().message;
  ASSERT_EQ(gains->gains.size(), 1U);
  EXPECT_EQ(gains->gains[0].p_holm, gains->gains[0].p);
  const auto none = stage_gains(*run, "sft", "rl", {"humanevil"});
  ASSERT_FALSE(none);
  EXPECT_NE(none.error().message.find("did you mean"), std::string::npos) << none.error().message;
}

TEST(ReportedStages, AStageThatNoRunHasIsNamedBesideThoseThatThereAre) {
  const auto gains = stage_gains(*read_any_run("published:ascend_910c_d32"), "sft", "dpo");
  ASSERT_FALSE(gains);
  EXPECT_EQ(gains.error().message,
            "published:ascend_910c_d32: has no evaluation of the stage \"dpo\"; it has: base, rl, "
            "sft");
}

// A table of two models: each against itself.
TEST(ReportedStages, EachModelOfATableHasItsOwnGains) {
  const auto gains = stage_gains(*read_any_run("published:seed_result_table"), "mid", "sft");
  ASSERT_TRUE(gains) << gains.error().message;
  std::vector<std::string> models;
  for (const StageGain& gain : gains->gains)
    if (models.empty() || models.back() != gain.evaluation) models.push_back(gain.evaluation);
  EXPECT_EQ(models, (std::vector<std::string>{"GPU", "NPU"}));
  const std::string headline = stage_headline(*gains);
  EXPECT_NE(headline.find("gsm8k of GPU"), std::string::npos) << headline;
}

TEST(ReportedStages, ATaskOfOneStageAloneIsSaid) {
  const RunRecords run = run_of(
      "run,device,stage,metric,value,n_items\na,H100,SFT,GSM8K,0.05,1319\na,H100,RL,GSM8K,"
      "0.08,1319\na,H100,RL,HumanEval,0.1,164\n");
  const auto gains = stage_gains(run, "sft", "rl");
  ASSERT_TRUE(gains) << gains.error().message;
  EXPECT_EQ(gains->notes, std::vector<std::string>{"only in rl: humaneval"});
}

TEST(ReportedTables, EveryCellOfTheSeeds) {
  const RunRecords gpu = read_any_run("published:seed_result_table/GPU").value(),
                   npu = read_any_run("published:seed_result_table/NPU").value();
  const Comparison comparison = compare_runs(gpu, npu, PairAcross::kDevices);
  std::size_t seen = 0;
  for (const Json& row : audit_golden()["differences"])
    for (const RecordPair& pair : comparison.pairs)
      for (const MetricDifference& found : pair.metrics) {
        if (row["stage"] != stage_upper(*pair.a) || found.name != metric_of(row)) continue;
        ++seen;
        EXPECT_NEAR(*found.p_two_sided, row["p"].get<double>(), 1e-9) << found.name;
        EXPECT_NEAR(*found.p_corrected, row["p_holm"].get<double>(), 1e-9) << found.name;
        EXPECT_EQ(found.shown == Shown::kWorse, row["p_holm"].get<double>() <= .05) << found.name;
      }
  EXPECT_EQ(seen, 11U);
}

TEST(ReportedTables, StandardErrorsAloneAreEnough) {
  const RunRecords a = run_of("task,accuracy,stderr\nx,0.50,0.01\ny,0.30,0.02\n"),
                   b = run_of("task,accuracy,stderr\nx,0.45,0.01\ny,0.31,0.02\n");
  const Comparison comparison = compare_runs(a, b, PairAcross::kDevices);
  ASSERT_EQ(comparison.pairs.size(), 1U);
  const MetricDifference& x = comparison.pairs[0].metrics[0];
  EXPECT_EQ(x.name, "x/accuracy");
  EXPECT_NEAR(*x.p_two_sided, std::erfc(.05 / std::sqrt(.0002) / std::sqrt(2)), 1e-12);
  EXPECT_NEAR(x.interval95->low, -.05 - kZ95 * std::sqrt(.0002), 1e-12);
  EXPECT_EQ(x.shown, Shown::kWorse);
}

}  // namespace
}  // namespace nb::test
