#include <gtest/gtest.h>

#include "results/audit/fact_names.hpp"
#include "results/audit/published.hpp"
#include "tests/results/audit/audit_case.hpp"

namespace nb::test {
namespace {

TEST(JsonTable, FactsAndSettingsOfOurOwnForm) {
  const ReportedTable table =
      table_from(run_with(R"("depth": "20", "minutes": "~8 h")",
                          R"("device": "NVIDIA H100", "facts": {"cards": "8"}, )"));
  const ReportedRun& run = table.runs.front();
  EXPECT_EQ(run.fact(run.stages.front(), fact::kCards)->value, 8);
  EXPECT_DOUBLE_EQ(run.stages.front().fact(fact::kMinutes)->value, 480);
}

TEST(JsonTable, LmEvalsResultsWithStandardErrorsAndSizes) {
  const ReportedTable table = table_from(
      R"({"results": {"arc_easy": {"acc,none": 0.25, "acc_stderr,none": 0.01, "alias": "x"},
          "wikitext": {"word_perplexity,none": 25.5, "word_perplexity_stderr,none": "N/A"}},
          "n-samples": {"arc_easy": {"original": 2376, "effective": 100}}})");
  const ReportedStage& stage = table.runs.front().stages.front();
  const ReportedCell& cell = *stage.find("arc_easy/acc,none");
  EXPECT_DOUBLE_EQ(*cell.standard_error, .01);
  EXPECT_EQ(cell.n, 100);
  EXPECT_EQ(stage.find("wikitext/word_perplexity,none")->scale, Scale::kOther);
}

TEST(JsonTable, DclmsAndFlatOnes) {
  const ReportedTable dclm = table_from(
      R"({"model": "m", "eval_metrics": {"icl": {"copa": 0.6000000238, "piqa": 0.7}}, "Core_v1": 0.5})");
  EXPECT_FALSE(dclm.runs.front().stages.front().find("copa")->counts_items);
  const ReportedTable flat = table_from(R"({"arc_easy": 0.63, "piqa": null})");
  EXPECT_EQ(flat.runs.front().stages.front().cells.size(), 1U);
}

TEST(JsonTable, MistakesAreNamed) {
  EXPECT_EQ(refusal_of(run_with(R"("dept": "20")")),
            "t: run \"r\", \"s\": no fact \"dept\"; did you mean \"depth\"?");
  EXPECT_EQ(refusal_of(R"({"schema": "npubench.table/2"})").find("t: /schema: "), 0U)
      << refusal_of(R"({"schema": "npubench.table/2"})");
  EXPECT_NE(refusal_of(R"({"schema": "npubench.table/1", "rums": []})").find("rums"),
            std::string::npos);
  EXPECT_EQ(refusal_of(R"({"a": {"b": 1}})").find("t: no table of results: expected"), 0U);
  EXPECT_NE(refusal_of(R"({"arc_easy": NaN})"), "");
  EXPECT_NE(refusal_of("[1, 2"), "");
  EXPECT_NE(refusal_of(R"({"arc_easy": 1.5e300})"), "");
}

TEST(PublishedTables, AreAllReadAndSayTheirSources) {
  EXPECT_GE(published_files().size(), 11U);
  for (const PublishedFile& file : published_files()) {
    const auto table = read_published(file.name);
    ASSERT_TRUE(table) << table.error().message;
    EXPECT_FALSE(table->about.empty()) << file.name;
    EXPECT_FALSE(table->sources.empty()) << file.name;
    for (const ReportedRun& run : table->runs) EXPECT_FALSE(run.source.empty()) << run.name;
  }
}

TEST(PublishedTables, OneRunOfATableCanBeNamed) {
  const auto table = read_published("seed_result_table/NPU");
  ASSERT_TRUE(table) << table.error().message;
  ASSERT_EQ(table->runs.size(), 1U);
  EXPECT_EQ(table->runs.front().device, "Huawei Ascend 910B");
  EXPECT_EQ(read_published("seed_result_table/TPU").error().message,
            "published:seed_result_table has no run \"TPU\"; its runs are GPU, NPU");
  EXPECT_EQ(
      read_published("seed_result_tabel").error().message,
      "there is no published table \"seed_result_tabel\"; did you mean \"seed_result_table\"? "
      "(npubench list published)");
}

}  // namespace
}  // namespace nb::test
