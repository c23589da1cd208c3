#include "results/audit/aggregates.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "evals/chat/composite.hpp"
#include "evals/core/composite.hpp"
#include "evals/core/task_table.hpp"
#include "results/audit/known_tasks.hpp"
#include "results/audit/published.hpp"
#include "tests/results/audit/audit_case.hpp"

namespace nb::test {
namespace {

const Aggregate* find_aggregate(const std::vector<Aggregate>& all, std::string_view wanted) {
  for (const Aggregate& aggregate : all)
    if (aggregate.name == wanted) return &aggregate;
  return nullptr;
}

TEST(KnownTasks, AreThoseOfTheEvaluators) {
  std::vector<std::string_view> core, chat;
  for (const KnownTask& known : known_tasks()) {
    if (!known.is_core) {
      chat.push_back(known.id);
      continue;
    }
    core.push_back(known.id);
    const CoreTask* task = find_core_task(known.id);
    ASSERT_NE(task, nullptr) << known.id;
    EXPECT_EQ(task->rows, known.items) << known.id;
    EXPECT_NEAR(task->baseline_v1, 100 * known.guessing, 1e-9) << known.id;
    EXPECT_NEAR(task->baseline_v2, 100 * known.guessing_v2, 1e-9) << known.id;
  }
  EXPECT_EQ(core, core_labels());
  const auto six = chat_core_sets()[1].tasks;
  EXPECT_EQ(chat, std::vector<std::string_view>(six.begin(), six.end()));
}

TEST(Aggregates, CoreHasBothTablesOfGuessing) {
  for (const char* name : {"ascend_910c_d20", "ascend_910c_d32"}) {
    const ReportedTable table = read_published(name).value();
    const auto all = aggregates_of(*table.runs.front().stage("BASE"));
    for (const auto& [aggregate, version] : {std::pair{"core", "v1"}, std::pair{"core_v2", "v2"}}) {
      const Aggregate* found = find_aggregate(all, aggregate);
      ASSERT_NE(found, nullptr);
      const Json& golden = audit_golden()[name][version];
      EXPECT_NEAR(*found->value, golden["value"].get<double>(), 1e-12) << name << version;
      EXPECT_NEAR(*found->standard_error, golden["standard_error"].get<double>(), 1e-12);
    }
    EXPECT_EQ(find_aggregate(all, "chatcore"), nullptr);
    std::map<std::string, double> accuracies;
    for (const ReportedCell& cell : table.runs.front().stage("BASE")->cells)
      accuracies[cell.task] = accuracy_of(cell);
    EXPECT_NEAR(*core_of(accuracies, "v1"), *find_aggregate(all, "core")->value, 1e-12);
    EXPECT_NEAR(*core_of(accuracies, "v2"), *find_aggregate(all, "core_v2")->value, 1e-12);
  }
}

TEST(Aggregates, ChatCoreOfFiveAndOfSixTasksHaveTheirOwnNames) {
  for (const Json& row : audit_golden()["six_tasks"]) {
    const ReportedTable table = read_published(row["table"].get<std::string>()).value();
    const auto all = aggregates_of(*table.runs.front().stage(row["stage"].get<std::string>()));
    for (const auto& [aggregate, key] :
         {std::pair{"chatcore", "five"}, std::pair{"chatcore_with_spellingbee", "six"}}) {
      const Aggregate* found = find_aggregate(all, aggregate);
      ASSERT_NE(found, nullptr);
      EXPECT_NEAR(*found->value, row[key]["value"].get<double>(), 1e-12);
      EXPECT_NEAR(*found->standard_error, row[key]["standard_error"].get<double>(), 1e-12);
      EXPECT_NEAR(found->interval->high - found->interval->low, 2 * kZ95 * *found->standard_error,
                  1e-12);
    }
  }
}

TEST(Aggregates, AMissingTaskLeavesNoneAndIsNamed) {
  const ReportedTable table = table_from("task,accuracy\nMMLU,0.3\nGSM8K,0.1\n");
  const auto all = aggregates_of(table.runs.front().stages.front());
  ASSERT_EQ(all.size(), 1U);
  EXPECT_FALSE(all[0].value);
  EXPECT_EQ(missing_text(all[0]),
            "chatcore needs all of its 5 tasks; missing: ARC-Easy, ARC-Challenge, HumanEval");
}

TEST(Aggregates, WithoutItemsThereIsAValueButNoInterval) {
  const ReportedTable table = table_from(
      "task,accuracy\nMMLU,0.3111\nGSM8K,0.0250\narc_easy,0.3561\narc_challenge,0.2875\nhumaneval,"
      "0.0671\n");
  const auto all = aggregates_of(table.runs.front().stages.front());
  ASSERT_EQ(all.size(), 1U);  // ARC by CORE's name beside MMLU is ChatCORE's
  EXPECT_NEAR(*all[0].value, .0730067, 1e-6);
  EXPECT_FALSE(all[0].interval);
}

TEST(Aggregates, RoundingIsWhatTheDigitsHide) {
  const ReportedTable table = read_published("seed_result_table").value();
  const auto all = aggregates_of(*table.run("GPU")->stage("MID"));
  EXPECT_NEAR(all[0].rounding, .00006, 1e-12);  // (3 · .00005/.75 + 2 · .00005)/5
}

}  // namespace
}  // namespace nb::test
