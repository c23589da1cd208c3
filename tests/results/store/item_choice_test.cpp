#include "results/store/item_choice.hpp"

#include <gtest/gtest.h>

#include "results/store/stored_items.hpp"
#include "tests/results/fake_run.hpp"

namespace nb {
namespace {

using test::FakeRun;

class ItemChoice : public testing::Test {
 protected:
  ItemChoice() {
    for (const char* device : {"ascend_910b3", "h100_sxm"})
      run_.add_evaluation(device, 1, "w",
                          {{"mw/facts", 12, test::even}, {"mw/cloze", 3, test::even}});
    records_ = run_.read();
  }
  std::string error_of(const std::string& node, const std::string& task) const {
    const auto tasks = item_tasks(records_, node);
    if (!tasks) return tasks.error().message;
    const auto one = the_task_named(*tasks, task);
    return one ? "found" : one.error().message;
  }
  FakeRun run_;
  RunRecords records_;
};

TEST_F(ItemChoice, AllTasksOfAllEvaluationsAreThere) {
  const auto tasks = item_tasks(records_, "");
  ASSERT_TRUE(tasks) << tasks.error().message;
  EXPECT_EQ(tasks->size(), 4U);
  const auto some = item_tasks(records_, "h100");
  ASSERT_TRUE(some) << some.error().message;
  EXPECT_EQ(some->size(), 2U);
  for (const ItemTask& one : *some) EXPECT_EQ(one.stored->record.device, "h100_sxm");
}

TEST_F(ItemChoice, ANodeIsItsFolderTheStartOfItsKeyOrAPartOfItsName) {
  const StoredRecord& stored = records_.records[1];
  for (const std::string& node : {stored.folder.filename().string(),
                                  stored.record.node_key.substr(0, 6), describe(stored.record)}) {
    const auto tasks = item_tasks(records_, node);
    ASSERT_TRUE(tasks) << tasks.error().message;
    EXPECT_EQ(tasks->front().stored, &stored) << node;
    EXPECT_EQ(tasks->size(), 2U) << node;
  }
}

TEST_F(ItemChoice, WhatIsNotThereIsSaidInOneSentence) {
  EXPECT_EQ(error_of("h100", "mw/facts"), "found");
  EXPECT_EQ(error_of("", "mw/fact"),
            "--task mw/fact: no items of such a task; did you mean \"mw/facts\"?; there are "
            "mw/cloze, mw/facts");
  EXPECT_EQ(error_of("h100", ""), "--task : no items of such a task; there are mw/cloze, mw/facts");
  const std::string several = error_of("", "mw/facts");
  EXPECT_NE(several.find("was evaluated 2 times; say which with --node"), std::string::npos)
      << several;
  EXPECT_NE(several.find("on h100_sxm, seed 1"), std::string::npos) << several;
  const std::string unknown = error_of("a100", "mw/facts");
  EXPECT_NE(unknown.find("--node a100: nothing with items is called so; there are"),
            std::string::npos)
      << unknown;
}

TEST_F(ItemChoice, ARunWithoutItemsSaysSo) {
  FakeRun other("other");
  other.add_training("ascend_910b3", 1, 1.5);
  const RunRecords records = other.read();
  const auto tasks = item_tasks(records, "");
  ASSERT_FALSE(tasks);
  EXPECT_NE(tasks.error().message.find("has no items to show"), std::string::npos)
      << tasks.error().message;
}

PackedItems items_named(const std::vector<std::pair<std::string, std::string>>& names) {
  PackedItems items;
  for (const auto& [id, source] : names) {
    ItemRecord item;
    item.id = id;
    item.source_id = source;
    items.push_back(item);
  }
  return items;
}

std::string found(const PackedItems& items, const std::string& name) {
  const auto place = find_item(items, name);
  return place ? std::to_string(*place) : place.error().message;
}

TEST(FindItem, ByNameIdRowOrTheBeginningOfItsId) {
  const auto items = items_named({{"aaaa1111", "7"}, {"aaaa2222", "1"}, {"bbbb3333", "x/9"}});
  EXPECT_EQ(found(items, "7"), "0") << "a name";
  EXPECT_EQ(found(items, "1"), "1") << "a name comes before a row";
  EXPECT_EQ(found(items, "3"), "2") << "a row";
  EXPECT_EQ(found(items, "x/9"), "2");
  EXPECT_EQ(found(items, "aaaa2222"), "1");
  EXPECT_EQ(found(items, "bbbb"), "2");
  EXPECT_EQ(found(items, "aaaa"), "--item aaaa: the ids of 2 items begin so; give more of it");
  const std::string rest = "; rows are 1 to 3, and leaving --item out lists them";
  EXPECT_EQ(found(items, "4"), "--item 4: there is no such row" + rest);
  EXPECT_EQ(found(items, "0"), "--item 0: there is no such row" + rest);
  EXPECT_EQ(found(items, "-1"), "--item -1: no item is called so" + rest);
  EXPECT_EQ(found(items, ""), "--item : no item is called so" + rest);
}

TEST(StoredItems, TheMarginIsThatOfTheRightChoice) {
  ItemRecord item;
  item.log_probs = {-1.5F, -0.5F, -2.0F};
  item.gold = "0";
  EXPECT_DOUBLE_EQ(*gold_margin(item), -1.0);
  item.gold = "B";
  EXPECT_DOUBLE_EQ(*gold_margin(item), 1.0);
  for (const char* gold : {"3", "D", "", "one", "-1", "1 "}) {
    item.gold = gold;
    EXPECT_FALSE(gold_margin(item)) << gold;
  }
  item.log_probs = {-3.0F};
  EXPECT_DOUBLE_EQ(*gold_margin(item), -3.0);
}

}  // namespace
}  // namespace nb
