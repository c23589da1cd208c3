#include "report/scores.hpp"

#include <gtest/gtest.h>

#include "report/sections.hpp"
#include "tests/results/fake_run.hpp"

namespace nb {
namespace {

using test::FakeRun;

bool half(int i) { return i < 50; }
bool sixty(int i) { return i < 60; }

// Named, trained and evaluated as the runner does it; `read` gives the records their names.
void evaluate(FakeRun& run, const std::string& name, const std::string& trained_on,
              const std::string& device, std::int64_t seed, bool (*right)(int)) {
  run.add_evaluation(device, seed, name + " of " + trained_on + std::to_string(seed),
                     {{"mw/facts", 100, right}},
                     [&](Record& record) { record.trained_on = trained_on; });
}

RunRecords read(const FakeRun& run) {
  RunRecords records = run.read();
  for (StoredRecord& stored : records.records) {
    const std::string& weights = stored.record.subject.at("weights");
    stored.record.name = weights.substr(0, weights.find(' '));
  }
  return records;
}

TEST(Scores, MeanAndStudentsIntervalOverSeeds) {
  FakeRun run;
  evaluate(run, "base.core", "h100_sxm", "h100_sxm", 1, half);
  evaluate(run, "base.core", "h100_sxm", "h100_sxm", 2, sixty);
  const RunRecords records = read(run);
  ReportInput input;
  input.run = &records;
  const auto tables = score_tables(input);
  ASSERT_EQ(tables.size(), 1U);
  ASSERT_EQ(tables[0].models.size(), 1U);
  const ScoreCell& cell = tables[0].cells.at(0).at(0);
  EXPECT_NEAR(*cell.raw, 0.55, 1e-12);
  // t(.975, 1) = 12.7062, SD = .0707107, of two values: half = 12.7062 · .05
  EXPECT_NEAR(cell.interval->low, 0.55 - 0.63531, 1e-5);
  EXPECT_NEAR(cell.interval->high, 0.55 + 0.63531, 1e-5);
  EXPECT_EQ(cell.seeds, 2U);
}

// 50 of 100: Wilson's interval is [.4038, .5962].
TEST(Scores, OneSeedHasTheIntervalOverItems) {
  FakeRun run;
  evaluate(run, "base.core", "h100_sxm", "h100_sxm", 1, half);
  const RunRecords records = read(run);
  ReportInput input;
  input.run = &records;
  const ScoreCell cell = score_tables(input).at(0).cells.at(0).at(0);
  EXPECT_NEAR(cell.interval->low, 0.40383, 1e-4);
  EXPECT_NEAR(cell.interval->high, 0.59617, 1e-4);
}

TEST(Scores, CrossedEvaluationsStandInTheAttributionAndStagesInTheirOrder) {
  FakeRun run;
  const std::string a = "ascend_910b3", b = "h100_sxm";
  // Seeds of their own: until they are named, both stages are one node.
  for (const std::int64_t first : {1, 11}) {
    const std::string stage = first == 1 ? "sft.core" : "base.core";
    for (const std::int64_t seed : {first, first + 1}) {
      evaluate(run, stage, a, a, seed, half);
      evaluate(run, stage, b, b, seed, sixty);
      evaluate(run, stage, a, b, seed, half);
      evaluate(run, stage, b, a, seed, sixty);
    }
  }
  const RunRecords records = read(run);
  ReportInput input;
  input.run = &records;
  input.comparisons = device_comparisons(records);
  const auto tables = score_tables(input);
  ASSERT_EQ(tables.size(), 1U);
  std::vector<std::string> names;
  for (const ScoreModel& model : tables[0].models) names.push_back(model.name + " " + model.device);
  EXPECT_EQ(names, (std::vector<std::string>{"base.core " + a, "base.core " + b, "sft.core " + a,
                                             "sft.core " + b}));
  const ReportContext context{input, Words(), {}, {}, tables, {}};
  const auto blocks = attribution_blocks(context);
  ASSERT_EQ(blocks.size(), 2U);
  const auto& rows = std::get<TableBlock>(blocks[1]).table.rows;
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0][1], "base.core");
  // The same weights score the same everywhere: all of the difference is training's.
  EXPECT_TRUE(rows[0][2].starts_with("0.0000")) << rows[0][2];
  EXPECT_TRUE(rows[0][3].starts_with("0.0000")) << rows[0][3];
  EXPECT_TRUE(rows[0][4].starts_with("+0.1000")) << rows[0][4];
}

TEST(ReportCard, HasNanochatsColumnsAndRows) {
  FakeRun run;
  evaluate(run, "base.core", "h100_sxm", "h100_sxm", 1, half);
  evaluate(run, "sft.chat", "h100_sxm", "h100_sxm", 2, sixty);
  const RunRecords records = read(run);
  ReportInput input;
  input.run = &records;
  const ReportContext context{input, Words(), {}, {}, score_tables(input), {}};
  const auto blocks = card_blocks(context);
  const TextTable& table = std::get<TableBlock>(blocks.at(1)).table;
  EXPECT_EQ(table.header, (std::vector<std::string>{"metric", "BASE\nh100_sxm", "SFT\nh100_sxm"}));
  ASSERT_EQ(table.rows.size(), 1U);
  EXPECT_EQ(table.rows[0][1], "0.5000\n[0.4038, 0.5962]");
  EXPECT_TRUE(table.rows[0][2].starts_with("0.6000\n"));
}

}  // namespace
}  // namespace nb
