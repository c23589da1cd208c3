#include "results/import/item_texts.hpp"

#include <gtest/gtest.h>

#include "harness/base/fs.hpp"
#include "results/compare/flips.hpp"
#include "results/import/to_records.hpp"
#include "results/store/item_choice.hpp"
#include "results/store/stored_items.hpp"
#include "tests/results/import/expected.hpp"
#include "tests/support/temp_dir.hpp"

namespace nb {
namespace {

// Two models under one path, two samples of an item.
TEST(ForeignItemTexts, AreThoseOfTheRecordsModelAndTask) {
  const test::TempDir folder;
  for (const char* model : {"a", "b"})
    ASSERT_TRUE(write_file(folder / (std::string(model) + ".csv"),
                           std::string("task,item,outcome,question,epoch\n") + "x,1,1,first of " +
                               model + ",1\n" + "x,1,0,first of " + model + ",2\n" +
                               "x,2,0,second of " + model + ",1\n" + "y,2,1,another task,1\n"));
  const auto run = read_any_run(folder.path());
  ASSERT_TRUE(run) << run.error().message;
  const auto tasks = item_tasks(*run, "b");
  ASSERT_TRUE(tasks) << tasks.error().message;
  const auto one = the_task_named(*tasks, "x");
  ASSERT_TRUE(one) << one.error().message;
  EXPECT_EQ(one->task, "x/accuracy");
  const auto items = stored_items(*one->stored, one->task);
  ASSERT_TRUE(items);
  std::vector<ItemName> names;
  for (const ItemRecord& item : items->get()) names.push_back(name_of(item));
  const auto texts = foreign_item_texts(*one->stored, one->task, names);
  ASSERT_TRUE(texts) << texts.error().message;
  ASSERT_EQ(texts->size(), 2U);
  EXPECT_EQ((*texts)[0].question, "first of b");
  EXPECT_EQ((*texts)[0].name, "1");
  EXPECT_EQ((*texts)[1].question, "second of b");
  EXPECT_EQ((*texts)[1].warning, "");
}

TEST(ForeignItemTexts, AFileOfMarksAloneSaysSo) {
  const test::TempDir folder;
  ASSERT_TRUE(write_file(folder / "a.csv", "item,outcome\n1,1\n2,0\n"));
  const auto run = read_any_run(folder / "a.csv");
  ASSERT_TRUE(run) << run.error().message;
  const ItemTask one = item_tasks(*run, "")->front();
  const std::vector<ItemName> names{{"", "2", ""}};
  const auto texts = foreign_item_texts(*one.stored, one.task, names);
  ASSERT_TRUE(texts);
  EXPECT_EQ(texts->front().warning, "the file holds no text of this item, its scores alone");
}

TEST(ForeignItemTexts, AChoiceHasItsPromptItsChoicesAndNoHashForAPrompt) {
  const test::TempDir folder;
  const std::string hash(64, 'a');
  const std::string row =
      R"({"doc_id": 4, "doc": {"query": "Is snow white?"}, "target": "0", )"
      R"("arguments": {"gen_args_0": {"arg_0": "Q: Is snow white?\nA:", "arg_1": " yes"}, )"
      R"("gen_args_1": {"arg_0": "Q: Is snow white?\nA:", "arg_1": " no"}}, )"
      R"("resps": [[["-1.5", "False"]], [["-0.5", "True"]]], )"
      R"("filtered_resps": [["-1.5", "False"], ["-0.5", "True"]], "filter": "none", )"
      R"("metrics": ["acc"], "doc_hash": ")" +
      hash + R"(", "prompt_hash": ")" + hash + R"(", "target_hash": ")" + hash +
      R"(", "acc": 0.0})"
      "\n";
  const auto file = folder / "samples_snow_2026-01-01T00-00-00.000000.jsonl";
  ASSERT_TRUE(write_file(file, row));
  const auto run = read_any_run(file);
  ASSERT_TRUE(run) << run.error().message;
  const ItemTask one = item_tasks(*run, "")->front();
  const std::vector<ItemName> names{{"", "4", ""}};
  const auto texts = foreign_item_texts(*one.stored, one.task, names);
  ASSERT_TRUE(texts) << texts.error().message;
  const ItemText& text = texts->front();
  EXPECT_EQ(text.question, "Is snow white?");
  EXPECT_EQ(text.prompts, std::vector<std::string>{"Q: Is snow white?\nA:"});
  EXPECT_EQ(text.choices, (std::vector<std::string>{" yes", " no"}));
}

// Whatever a reader understands can be looked at: each real file's first item has a text, unless
// the file has scores alone (evalplus' results, whose problems stand elsewhere).
TEST(ForeignItemTexts, RealFilesHaveTheTextOfTheirItems) {
  NB_NEEDS_IMPORTS();
  int looked = 0;
  for (const char* harness : {"lm_eval", "evalscope", "inspect_ai", "helm"}) {
    const auto folder = test::imports_dir() / harness;
    if (!std::filesystem::exists(folder)) continue;
    SCOPED_TRACE(harness);
    const auto run = read_any_run(folder);
    ASSERT_TRUE(run) << run.error().message;
    const auto tasks = item_tasks(*run, "");
    ASSERT_TRUE(tasks) << tasks.error().message;
    const ItemTask& one = tasks->front();
    const auto items = stored_items(*one.stored, one.task);
    const std::vector<ItemName> names{name_of(items->get()[0])};
    const auto texts = foreign_item_texts(*one.stored, one.task, names);
    ASSERT_TRUE(texts) << texts.error().message;
    EXPECT_FALSE(texts->front().is_empty()) << one.task;
    EXPECT_EQ(texts->front().warning, "") << one.task;
    ++looked;
  }
  EXPECT_GT(looked, 0);
}

}  // namespace
}  // namespace nb
