#include "results/store/packed_items.hpp"

#include <gtest/gtest.h>

#include <limits>

#include "results/compare/item_pairing.hpp"

namespace nb {
namespace {

ItemRecord full() {
  ItemRecord item;
  item.id = "0123456789abcdef";
  item.ok = true;
  item.prediction = std::string("a\0ß", 4);
  item.gold = "B";
  item.log_probs = {-1.5f, -0.0f, std::numeric_limits<float>::lowest()};
  item.reason = "timeout";
  item.prompt_hash = "fedcba9876543210";
  item.cut_tokens = 1'000'000'000'000;
  item.texts = {"", std::string(300, 'x')};
  item.sample_ok = {1, 0};
  item.loss = TextLoss{2.5, 3, 4};
  item.value = 0.1;
  item.doc_hash = "0011223344556677";
  item.source_id = "Level 3/12";
  return item;
}

TEST(PackedItems, AreReadAsTheyWerePut) {
  std::vector<ItemRecord> items(7);
  items[1] = full();
  items[2].id = "name-0123456789abcdef";
  items[2].doc_hash = "0123456789ABCDEF";  // no digits of ours: it stays a text
  items[3].id = "abc";
  items[4].prediction = std::string(300'000, 'y');  // larger than a block
  items[5].doc_hash = "01234567 not a hash";
  items[6].value = -0.0;
  const PackedItems packed(items);
  ASSERT_EQ(packed.size(), items.size());
  ItemRecord used = full();  // what was in it does not stay
  for (std::size_t i = 0; i < items.size(); ++i) {
    EXPECT_EQ(packed[i], items[i]) << i;
    packed.read(i, used);
    EXPECT_EQ(used, items[i]) << i;
    EXPECT_EQ(packed.source_id(i), items[i].source_id);
  }
  std::size_t at = 0;
  for (const ItemRecord& item : packed) EXPECT_EQ(item, items[at++]);
  EXPECT_EQ(at, items.size());
}

TEST(PackedItems, KeysAreEqualWhereTheTextsAre) {
  const auto item = [](const std::string& id, const std::string& doc) {
    ItemRecord made;
    made.id = id;
    made.doc_hash = doc;
    return made;
  };
  // "abcdefgh" has the bytes of the packed "6162636465666768".
  const PackedItems items({item("abcdefgh", "aa"), item("6162636465666768", ""),
                           item("abcdefgh", "aa"), item("", "6162636465666768")});
  EXPECT_EQ(items.id_key(0), items.id_key(2));
  EXPECT_NE(items.id_key(0), items.id_key(1));
  EXPECT_EQ(items.id_key(1), items.doc_key(3));
  EXPECT_EQ(items.doc_key(0), items.doc_key(2));
  EXPECT_TRUE(items.doc_key(1).empty());
  EXPECT_TRUE(items.id_key(3).empty());
}

TEST(PackedItems, ACopyIsNotChangedByWhatTheOtherIsGiven) {
  PackedItems first({full()});
  PackedItems second = first;
  ItemRecord a = full(), b = full();
  a.gold = "first";
  b.gold = "second";
  first.push_back(a);
  second.push_back(b);
  EXPECT_EQ(first[1].gold, "first");
  EXPECT_EQ(second[1].gold, "second");
  EXPECT_EQ(first[0], full());
  EXPECT_FALSE(first == second);
}

TEST(ItemPairing, NamesAloneAreCountedApartFromContent) {
  const auto item = [](const std::string& id, const std::string& doc = "") {
    ItemRecord made;
    made.id = id;
    made.doc_hash = doc;
    return made;
  };
  const PackedItems a({item("name-1111111111111111"), item("2222222222222222"),
                       item("3333333333333333", "dddddddddddddddd"), item("4444444444444444")});
  const PackedItems b({item("5555555555555555", "dddddddddddddddd"), item("2222222222222222"),
                       item("name-1111111111111111")});
  const ItemPairing pairing = pair_items(a, b);
  EXPECT_EQ(pairing.by, "the source's hashes and content and names");
  EXPECT_EQ(pairing.pairs,
            (std::vector<std::pair<std::uint32_t, std::uint32_t>>{{0, 2}, {1, 1}, {2, 0}}));
  EXPECT_EQ(pairing.only_a, (std::vector<std::size_t>{3}));
}

}  // namespace
}  // namespace nb
