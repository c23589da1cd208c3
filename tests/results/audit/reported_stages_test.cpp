#include "results/audit/compare_tables.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "results/audit/published.hpp"
#include "tests/results/audit/audit_case.hpp"

namespace nb::test {
namespace {

const ScoreDifference& task_of(const TableComparison& comparison, std::string_view label) {
  for (const ScoreDifference& task : comparison.tasks)
    if (task.label == label) return task;
  ADD_FAILURE() << "no task " << label;
  return comparison.tasks.front();
}

// HumanEval falls from 20 to 3 of 164 while ChatCORE rises.
TEST(CompareTables, ARegressionThatTheAggregateHidesIsRedAndNamed) {
  const ReportedTable table = read_published("ascend_910c_d32").value();
  const ReportedRun& run = table.runs.front();
  const TableComparison comparison =
      compare_stages(*run.stage("SFT"), "SFT", *run.stage("RL"), "RL");
  EXPECT_EQ(comparison.verdict, TableVerdict::kRegressed);
  EXPECT_EQ(comparison.worse, std::vector<std::string>{"HumanEval"});
  EXPECT_EQ(comparison.better, std::vector<std::string>{"GSM8K"});
  EXPECT_EQ(headline(comparison),
            "REGRESSED: worse in HumanEval; better in GSM8K (6 of 6 tasks tested, Holm)");
  for (const Json& row : audit_golden()["sft_to_rl"]) {
    const ScoreDifference& task = task_of(comparison, row["task"].get<std::string>());
    EXPECT_EQ(task.test, ScoreTest::kProportions);
    EXPECT_NEAR(*task.z, row["z"].get<double>(), 1e-9);
    EXPECT_NEAR(*task.p_two_sided, row["p"].get<double>(), 1e-9 * row["p"].get<double>() + 1e-13);
    EXPECT_NEAR(*task.p_adjusted, row["p_holm"].get<double>(), 1e-9);
    EXPECT_NEAR(task.interval95->low, row["low"].get<double>(), 1e-12);
    EXPECT_NEAR(task.interval95->high, row["high"].get<double>(), 1e-12);
  }
  ASSERT_EQ(comparison.aggregates.size(), 2U);
  const AggregateDifference& six = comparison.aggregates[1];
  EXPECT_EQ(six.name, "chatcore_with_spellingbee");
  EXPECT_NEAR(*six.a, .3024, 5e-5);
  EXPECT_NEAR(*six.b, .3108, 5e-5);
  EXPECT_NE(comparison_text(comparison).find("0.3024 to 0.3108"), std::string::npos);
}

TEST(CompareTables, EveryCellOfTheSeeds) {
  const ReportedTable gpu = read_published("seed_result_table/GPU").value();
  const ReportedTable npu = read_published("seed_result_table/NPU").value();
  const auto comparison = compare_tables(gpu, npu);
  ASSERT_TRUE(comparison) << comparison.error().message;
  ASSERT_EQ(comparison->tasks.size(), 11U);
  std::size_t significant = 0;
  for (const Json& row : audit_golden()["differences"]) {
    const std::string label =
        row["stage"].get<std::string>() + " " + row["task"].get<std::string>();
    const ScoreDifference& task = task_of(*comparison, label);
    EXPECT_NEAR(*task.z, row["z"].get<double>(), 1e-9) << label;
    EXPECT_NEAR(*task.p_adjusted, row["p_holm"].get<double>(), 1e-9) << label;
    if (row["p_holm"].get<double>() <= .05) ++significant;
  }
  EXPECT_EQ(significant, 8U);
  EXPECT_EQ(comparison->worse.size(), significant);
  EXPECT_EQ(comparison->verdict, TableVerdict::kRegressed);
}

TEST(CompareTables, StandardErrorsAloneAreEnough) {
  const auto a = table_from("task,accuracy,stderr\nx,0.50,0.01\ny,0.30,0.02\n");
  const auto b = table_from("task,accuracy,stderr\nx,0.45,0.01\ny,0.31,0.02\n");
  const auto comparison = compare_tables(a, b);
  ASSERT_TRUE(comparison);
  const ScoreDifference& x = task_of(*comparison, "x");
  EXPECT_EQ(x.test, ScoreTest::kStandardErrors);
  EXPECT_NEAR(*x.z, -.05 / std::sqrt(.0002), 1e-12);
  EXPECT_NEAR(*x.p_two_sided, std::erfc(.05 / std::sqrt(.0002) / std::sqrt(2)), 1e-12);
  EXPECT_NEAR(x.interval95->low, -.05 - kZ95 * std::sqrt(.0002), 1e-12);
  EXPECT_EQ(comparison->worse, std::vector<std::string>{"x"});
}

TEST(CompareTables, EqualScoresPassAndSayWhatTheyCouldNotSee) {
  const auto a = table_from("task,accuracy,n\nGSM8K,0.0455,1319\nHumanEval,0.0854,164\n");
  const auto comparison = compare_tables(a, a);
  ASSERT_TRUE(comparison);
  EXPECT_EQ(comparison->verdict, TableVerdict::kPass);
  // 2.80 · sqrt(2 · .0854 · .9146/164)
  EXPECT_EQ(
      headline(*comparison),
      "PASS: no task differs significantly (2 of 2 tasks tested, Holm); in HumanEval a change "
      "below 0.0865 stays unseen");
}

TEST(CompareTables, WithoutSizesNothingCanBeTold) {
  const auto a = table_from("task,accuracy\nx,0.5\n");
  const auto b = table_from("task,accuracy\nx,0.1\n");
  const auto comparison = compare_tables(a, b);
  ASSERT_TRUE(comparison);
  EXPECT_EQ(comparison->verdict, TableVerdict::kCantTell);
  EXPECT_EQ(headline(*comparison).find("CAN'T TELL: neither a number of items"), 0U);
  const auto other = compare_tables(a, table_from("task,accuracy\ny,0.1\n"));
  EXPECT_EQ(headline(other.value()), "CAN'T TELL: no task is in both tables");
  EXPECT_EQ(other->only_a, std::vector<std::string>{"x"});
  EXPECT_EQ(other->only_b, std::vector<std::string>{"y"});
}

TEST(CompareTables, ExtremeScoresHaveNoSpreadAndNoCrash) {
  const auto a = table_from("task,accuracy,n\nx,1.0,10\ny,0,10\n");
  const auto b = table_from("task,accuracy,n\nx,1.0,10\ny,0,10\n");
  const auto comparison = compare_tables(a, b);
  EXPECT_EQ(*task_of(comparison.value(), "x").p_two_sided, 1);
  EXPECT_EQ(comparison->verdict, TableVerdict::kPass);
}

TEST(CompareTables, SeveralRunsInOneTableAreRefused) {
  const auto comparison = compare_tables(read_published("seed_result_table").value(),
                                         read_published("ascend_910c_d32").value());
  ASSERT_FALSE(comparison);
  EXPECT_EQ(comparison.error().message,
            "published:seed_result_table: 2 runs in one table (GPU, NPU); name one, as "
            "published:seed_result_table/GPU");
}

TEST(CompareTables, JsonHasItsSchema) {
  const auto a = table_from("task,accuracy,n\nx,0.5,10\n");
  const Json json = comparison_json(compare_tables(a, a).value());
  EXPECT_EQ(json["schema"], "npubench.tables/1");
  EXPECT_EQ(json["verdict"], "PASS");
  EXPECT_EQ(json["tasks"][0]["test"], "two_proportions");
}

}  // namespace
}  // namespace nb::test
