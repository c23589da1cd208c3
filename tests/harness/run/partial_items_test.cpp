#include "harness/run/partial_items.hpp"

#include <gtest/gtest.h>

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
  PartialItems shard(std::int64_t number, std::int64_t count) const {
    return PartialItems(folder_.path(), number, count);
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
  ASSERT_TRUE(own.append("mw/facts", item("c")).has_value());
  EXPECT_EQ(ids(own), (std::vector<std::string>{"a", "c"}));
}

// Another process writes it: what looks cut short may be a line in the making.
TEST_F(PartialItemsTest, TheHalfLineOfAnotherShardStays) {
  const std::string half = "{\"i\":\"b";
  ASSERT_TRUE(append_file(file("mw_facts.1-of-2.jsonl"), half).has_value());
  EXPECT_TRUE(ids(shard(0, 2)).empty());
  EXPECT_EQ(read_file(file("mw_facts.1-of-2.jsonl")).value(), half);
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
