#include "harness/run/partial_items.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>

#include "harness/base/fs.hpp"
#include "tests/support/temp_dir.hpp"

namespace nb {
namespace {

ItemRecord item(const std::string& id) {
  ItemRecord record;
  record.id = id;
  return record;
}

class PartialItemsTest : public testing::Test {
 protected:
  PartialItems shard(std::int64_t number, std::int64_t count,
                     const std::string& node_key = "0123") {
    return PartialItems(folder_.path(), node_key, number, count,
                        [this](const std::string& sentence) { said_.push_back(sentence); });
  }
  static std::vector<std::string> ids(const PartialItems& items) {
    const auto read = items.read("mw/facts");
    EXPECT_TRUE(read.has_value()) << read.error().message;
    std::vector<std::string> ids;
    if (read)
      for (const ItemRecord& one : *read) ids.push_back(one.id);
    return ids;
  }
  fs::path file(const std::string& name) const { return folder_ / "partial" / name; }
  test::TempDir folder_;
  std::vector<std::string> said_;
};

TEST_F(PartialItemsTest, EachItemOfAllShardsIsThereOnce) {
  EXPECT_TRUE(ids(shard(0, 2)).empty());
  ASSERT_TRUE(shard(1, 2).append("mw/facts", item("b")).has_value());
  ASSERT_TRUE(shard(0, 2).append("mw/facts", item("a")).has_value());
  ASSERT_TRUE(shard(0, 1).append("mw/facts", item("b")).has_value());
  ASSERT_TRUE(shard(0, 2).append("mw/cloze", item("c")).has_value());
  EXPECT_EQ(ids(shard(0, 2)), (std::vector<std::string>{"b", "a"}));
}

// Killed twice: the half line of the first time must not swallow the first item of the second.
TEST_F(PartialItemsTest, TheNextItemBeginsALineOfItsOwn) {
  const PartialItems own = shard(0, 1);
  ASSERT_TRUE(own.append("mw/facts", item("a")).has_value());
  ASSERT_TRUE(append_file(file("mw_facts.0-of-1.jsonl"), "{\"i\":\"b").has_value());
  EXPECT_EQ(ids(own), std::vector<std::string>{"a"});
  EXPECT_EQ(said_, std::vector<std::string>{
                       file("mw_facts.0-of-1.jsonl").string() +
                       ": of 2 lines 1 is damaged, cut short or of another evaluation; their items "
                       "are evaluated again"});
  ASSERT_TRUE(own.append("mw/facts", item("c")).has_value());
  EXPECT_EQ(ids(own), (std::vector<std::string>{"a", "c"}));
}

// Another process writes it: what looks cut short may be a line in the making.
TEST_F(PartialItemsTest, TheHalfLineOfAnotherShardStays) {
  const std::string half = "{\"i\":\"b";
  ASSERT_TRUE(append_file(file("mw_facts.1-of-2.jsonl"), half).has_value());
  EXPECT_TRUE(ids(shard(0, 2)).empty());
  EXPECT_EQ(read_file(file("mw_facts.1-of-2.jsonl")).value(), half);
  EXPECT_TRUE(said_.empty());
}

// One bit turned a right answer into a wrong one, and the record was sealed with it.
TEST_F(PartialItemsTest, NoFlippedBitIsAnItem) {
  std::vector<std::string> all;
  for (int i = 0; i < 5; ++i) {
    ItemRecord one = item("item" + std::to_string(i));
    one.ok = i % 2 == 0;
    one.prediction = one.gold = std::to_string(i);
    one.log_probs = {-1.25F, -0.5F - static_cast<float>(i)};
    all.push_back(one.id);
    ASSERT_TRUE(shard(0, 1).append("mw/facts", one).has_value());
  }
  const fs::path path = file("mw_facts.0-of-1.jsonl");
  const std::string whole = read_file(path).value();
  const std::vector<ItemRecord> items = shard(0, 1).read("mw/facts").value();
  ASSERT_EQ(ids(shard(0, 1)), all);
  const auto is_one_of_them = [&](const ItemRecord& one) {
    return std::find(items.begin(), items.end(), one) != items.end();
  };
  for (std::size_t bit = 0; bit < 8 * whole.size(); ++bit) {
    std::string wrong = whole;
    wrong[bit / 8] = static_cast<char>(wrong[bit / 8] ^ (1 << bit % 8));
    std::ofstream(path, std::ios::binary) << wrong;  // write_file() waits for the disk
    // As another shard, which leaves the file as it is.
    const auto read = shard(0, 2).read("mw/facts");
    ASSERT_TRUE(read.has_value()) << read.error().message;
    ASSERT_TRUE(read->size() == 4 || read->size() == 3) << "bit " << bit;  // 3: a line end is gone
    ASSERT_TRUE(std::all_of(read->begin(), read->end(), is_one_of_them)) << "bit " << bit;
    if (bit % 97 != 0) continue;
    // As its own: what was left out is gone from the file too, and the next item has its line.
    said_.clear();
    const PartialItems own = shard(0, 1);
    ASSERT_EQ(own.read("mw/facts").value(), *read) << "bit " << bit;
    ASSERT_EQ(said_.size(), 1U) << "bit " << bit;
    for (const ItemRecord& one : items) {
      if (std::find(read->begin(), read->end(), one) != read->end()) continue;
      ASSERT_TRUE(own.append("mw/facts", one).has_value());
    }
    ASSERT_EQ(own.read("mw/facts").value().size(), items.size());
    ASSERT_EQ(said_.size(), 1U) << "bit " << bit;
  }
}

TEST_F(PartialItemsTest, ItemsOfAnotherNodeOrTaskAreNotTaken) {
  ASSERT_TRUE(shard(0, 1, "other").append("mw/facts", item("a")).has_value());
  EXPECT_TRUE(ids(shard(0, 1)).empty());
  EXPECT_EQ(said_.size(), 1U);
  ASSERT_TRUE(shard(0, 1).append("mw/cloze", item("b")).has_value());
  fs::rename(file("mw_cloze.0-of-1.jsonl"), file("mw_facts.0-of-1.jsonl"));
  EXPECT_TRUE(ids(shard(0, 1)).empty());
  EXPECT_EQ(said_.size(), 2U);
}

TEST_F(PartialItemsTest, EmptyAndZeroedFilesHoldNothing) {
  ASSERT_TRUE(shard(0, 1).append("mw/facts", item("a")).has_value());
  const fs::path path = file("mw_facts.0-of-1.jsonl");
  ASSERT_TRUE(write_file(path, ""));
  EXPECT_TRUE(ids(shard(0, 1)).empty());
  EXPECT_TRUE(said_.empty());
  ASSERT_TRUE(write_file(path, std::string(100, '\0')));
  EXPECT_TRUE(ids(shard(0, 1)).empty());
  EXPECT_EQ(said_.size(), 1U);
  ASSERT_TRUE(shard(0, 1).append("mw/facts", item("b")).has_value());
  EXPECT_EQ(ids(shard(0, 1)), std::vector<std::string>{"b"});
}

// A damaged line of another shard is said once and stays: it is that shard's file.
TEST_F(PartialItemsTest, AnotherShardsDamageIsSaidAndLeftToIt) {
  ASSERT_TRUE(shard(1, 2).append("mw/facts", item("a")).has_value());
  const fs::path path = file("mw_facts.1-of-2.jsonl");
  std::string wrong = read_file(path).value();
  wrong[20] ^= 1;
  ASSERT_TRUE(write_file(path, wrong));
  const PartialItems own = shard(0, 2);
  EXPECT_TRUE(ids(own).empty());
  EXPECT_TRUE(ids(own).empty());
  EXPECT_EQ(said_, std::vector<std::string>{
                       path.string() +
                       ": of 1 line 1 is damaged, cut short or of another evaluation; their items "
                       "count as not evaluated"});
  EXPECT_EQ(read_file(path).value(), wrong);
}

TEST_F(PartialItemsTest, ToBeginAgainKeepsWhatShardsOfTheSameNumberDid) {
  for (const auto& [number, count] : {std::pair{0, 1}, {0, 2}, {1, 2}, {1, 3}})
    ASSERT_TRUE(shard(number, count).append("mw/facts", item(std::to_string(10 * number + count))));
  EXPECT_TRUE(shard(1, 2).has_own());
  ASSERT_TRUE(shard(1, 2).begin_again().has_value());
  EXPECT_FALSE(shard(1, 2).has_own());
  EXPECT_TRUE(shard(0, 2).has_own());
  EXPECT_EQ(ids(shard(1, 2)), std::vector<std::string>{"2"});
  ASSERT_TRUE(shard(0, 1).begin_again().has_value());
  EXPECT_FALSE(fs::exists(folder_ / "partial"));
}

}  // namespace
}  // namespace nb
