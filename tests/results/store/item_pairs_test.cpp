// Items of two evaluations of ours, pair by pair.
#include "results/store/item_pairs.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "harness/base/fs.hpp"
#include "results/compare/flips.hpp"
#include "results/compare/item_comparison.hpp"
#include "tests/results/fake_run.hpp"

namespace nb {
namespace {

using test::FakeRun;

// Two evaluations of twelve items, of which the second is edited on disk.
class TwoSides {
 public:
  TwoSides() {
    run_.add_evaluation("ascend_910b3", 1, "w", {{"mw/facts", 12, test::even}});
    run_.add_evaluation("h100_sxm", 1, "w", {{"mw/facts", 12, [](int i) { return i < 6; }}});
  }

  void edit(const std::function<void(std::vector<ItemRecord>&)>& change) {
    const StoredRecord b = read().second;
    const fs::path path = b.folder / b.record.items.at("mw/facts");
    auto items = *read_items(path);
    change(items);
    std::string text;
    for (const ItemRecord& item : items) text += *items_text({item});
    overwrite(text);
  }
  // With a record that says so.
  void overwrite(const std::string& text) {
    const StoredRecord b = read().second;
    ASSERT_TRUE(write_file(b.folder / b.record.items.at("mw/facts"), text));
    Record record = b.record;
    record.artifacts.at(record.items.at("mw/facts")).clear();
    ASSERT_TRUE(fs::remove(b.folder / "record.json"));
    ASSERT_TRUE(write_record(b.folder, record));
  }
  std::pair<StoredRecord, StoredRecord> read() const {
    const RunRecords run = run_.read();
    EXPECT_EQ(run.records.size(), 2U);
    return {run.records.at(0), run.records.at(1)};
  }
  ItemComparison compared() const {
    const auto [a, b] = read();
    return compare_items(a, b, "mw/facts");
  }

 private:
  FakeRun run_;
};

std::vector<std::int64_t> numbers(const ItemComparison& c) {
  return {c.counts.both, c.counts.only_a, c.counts.only_b, c.counts.neither};
}

const std::vector<std::int64_t> kTable = {3, 3, 3, 3};

TEST(ItemPairs, FilesInOneOrderAndInAnotherGiveTheSame) {
  TwoSides sides;
  EXPECT_EQ(numbers(sides.compared()), kTable);
  sides.edit([](auto& items) { std::reverse(items.begin(), items.end()); });
  EXPECT_EQ(numbers(sides.compared()), kTable);
  sides.edit([](auto& items) {
    std::reverse(items.begin(), items.end());
    std::swap(items[4], items[10]);
  });
  EXPECT_EQ(numbers(sides.compared()), kTable);
}

TEST(ItemPairs, EachPairHasTheSameIdAndTheRowOfA) {
  TwoSides sides;
  sides.edit([](auto& items) { std::swap(items[4], items[10]); });
  const auto [a, b] = sides.read();
  const auto items = *read_items(a.folder / a.record.items.at("mw/facts"));
  std::size_t rows = 0;
  ASSERT_TRUE(for_each_pair(a, b, "mw/facts",
                            [&](std::size_t row, const ItemRecord& left, const ItemRecord& right) {
                              EXPECT_EQ(row, rows++);
                              EXPECT_EQ(left, items[row]);
                              EXPECT_EQ(left.id, right.id);
                            }));
  EXPECT_EQ(rows, 12U);
}

TEST(ItemPairs, OtherItemsAreNamed) {
  TwoSides sides;
  sides.edit([](auto& items) { items[7].id = "ffff00000000000f"; });
  EXPECT_NE(sides.compared().error.find(" is not in "), std::string::npos)
      << sides.compared().error;
  sides.edit([](auto& items) { items.pop_back(); });
  const std::string error = sides.compared().error;
  EXPECT_NE(error.find("mw/facts: 12 items in "), std::string::npos) << error;
  EXPECT_NE(error.find(", 11 in "), std::string::npos) << error;
}

TEST(ItemPairs, AnItemTwiceIsNamedWithItsLine) {
  TwoSides sides;
  sides.edit([](auto& items) { items[7].id = items[2].id; });
  const std::string error = sides.compared().error;
  EXPECT_NE(error.find(":8: item "), std::string::npos) << error;
  EXPECT_NE(error.find("appears twice"), std::string::npos) << error;
}

TEST(ItemPairs, ATruncatedOrEmptyFileIsNamed) {
  TwoSides sides;
  const auto [a, b] = sides.read();
  const std::string text = *read_file(a.folder / a.record.items.at("mw/facts"));
  sides.overwrite(text.substr(0, text.size() - 1));
  EXPECT_NE(sides.compared().error.find("the last line is truncated"), std::string::npos);
  sides.overwrite("");
  EXPECT_NE(sides.compared().error.find("has no items"), std::string::npos);
}

TEST(ItemPairs, FlipsAreThoseOfTheCounts) {
  TwoSides sides;
  sides.edit([](auto& items) { std::swap(items[4], items[10]); });
  RunRecords run;
  run.records = {sides.read().first, sides.read().second};
  const auto compared = compare_devices(run, "ascend_910b3", "h100_sxm");
  ASSERT_TRUE(compared);
  const ItemList list = flips_of(*compared);
  ASSERT_EQ(list.flips.size(), 6U);
  for (const Flip& flip : list.flips)  // A has every second right, B the first six
    EXPECT_EQ(flip.lost, flip.row > 6) << flip.row;
}

}  // namespace
}  // namespace nb
