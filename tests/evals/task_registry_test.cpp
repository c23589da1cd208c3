#include "evals/task_registry.hpp"

#include <gtest/gtest.h>

#include <set>

#include "evals/core/task_table.hpp"
#include "evals/data/manifest.hpp"
#include "tests/evals/support/toy.hpp"

namespace nb {
namespace {

TEST(TaskRegistry, IdsAreUniqueAndFound) {
  std::set<std::string_view> ids;
  for (const Task& task : all_tasks()) {
    EXPECT_TRUE(ids.insert(task.id).second) << task.id;
    EXPECT_EQ(find_task(task.id), &task);
  }
  EXPECT_EQ(find_task("nothing"), nullptr);
}

TEST(TaskRegistry, CoreHas22Places) {
  EXPECT_EQ(core_labels().size(), 22u);
  const auto tasks = test::tasks_of("core");
  ASSERT_EQ(tasks.size(), 22u);
  EXPECT_EQ(tasks.front().id, "hellaswag_zeroshot");
  EXPECT_EQ(tasks.back().id, "bigbench_language_identification");
  for (const Task& task : tasks) EXPECT_FALSE(task.core->is_approximate) << task.id;
}

TEST(TaskRegistry, ApproximateSetFillsTheSamePlacesOtherwise) {
  const auto tasks = test::tasks_of("core_with_hellaswag_approx");
  std::set<std::string_view> labels;
  int approximate = 0;
  for (const Task& task : tasks) {
    labels.insert(task.core->core_label);
    approximate += task.core->is_approximate ? 1 : 0;
    EXPECT_EQ(task.core->is_approximate, task.id.ends_with("_approx")) << task.id;
  }
  EXPECT_EQ(labels.size(), 22u);
  EXPECT_EQ(tasks.size(), 22u);  // each place once
  EXPECT_EQ(approximate, 2);
}

TEST(TaskRegistry, EveryDatasetIsInTheManifestWithItsRows) {
  for (const Task& task : all_tasks()) {
    if (task.rows == 0) continue;
    const DataFile* file = data_manifest().find(task.dataset);
    ASSERT_NE(file, nullptr) << task.id;
    EXPECT_EQ(file->rows, task.rows) << task.id;
    EXPECT_EQ(std::count(file->tasks.begin(), file->tasks.end(), task.id), 1) << task.id;
  }
}

TEST(TaskRegistry, EveryTaskOfTheManifestExists) {
  for (const DataFile& file : data_manifest().files)
    for (const std::string& task : file.tasks)
      EXPECT_NE(find_task(task), nullptr) << file.name << " " << task;
}

TEST(TaskRegistry, MicroworldIsTwoSets) {
  for (const auto& [set, ids] : std::vector<std::pair<std::string, std::vector<std::string>>>{
           {"mw", {"mw/facts", "mw/cloze", "mw/agreement", "mw/choice"}},
           {"mw_chat",
            {"mw/arc_easy", "mw/arc_challenge", "mw/mmlu", "mw/gsm8k", "mw/humaneval",
             "mw/spellingbee"}}}) {
    std::vector<std::string> found;
    for (const Task& task : test::tasks_of(set)) found.push_back(task.id);
    EXPECT_EQ(found, ids) << set;
  }
  for (const char* set : {"chat", "chat_with_spellingbee"})
    for (const Task& task : test::tasks_of(set)) EXPECT_NE(task.dataset, "microworld") << task.id;
}

TEST(ExpandTasks, KeepsTheOrderAndDropsDoubles) {
  const auto tasks = *expand_tasks(std::vector<std::string>{"mw/choice", "mw", "copa"}, "");
  std::vector<std::string> ids;
  for (const Task& task : tasks) ids.push_back(task.id);
  EXPECT_EQ(
      ids, (std::vector<std::string>{"mw/choice", "mw/facts", "mw/cloze", "mw/agreement", "copa"}));
}

TEST(ExpandTasks, UnknownNameGetsTheNearestOne) {
  const auto tasks =
      expand_tasks(std::vector<std::string>{"copa", "arc_esay"}, "suites/a.json: /eval/tasks");
  ASSERT_FALSE(tasks.has_value());
  EXPECT_EQ(tasks.error().message,
            "suites/a.json: /eval/tasks: no evaluation task \"arc_esay\"; did you mean "
            "\"arc_easy\"? (npubench list tasks)");
  EXPECT_FALSE(expand_tasks(std::vector<std::string>{}, "").has_value());
}

}  // namespace
}  // namespace nb
