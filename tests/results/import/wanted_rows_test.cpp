#include "results/import/wanted_rows.hpp"

#include <gtest/gtest.h>

#include <array>

namespace nb {
namespace {

constexpr std::array<std::string_view, 2> kKeys = {"group_id", "index"};

bool may_hold(std::vector<std::string> names, std::string_view row) {
  return WantedRows(std::move(names)).may_hold(row, kKeys);
}

TEST(WantedRows, AreToldByTheMemberThatNamesThem) {
  EXPECT_TRUE(may_hold({"17"}, R"({"index": 17, "target": 3})"));
  EXPECT_FALSE(may_hold({"3"}, R"({"index": 17, "target": 3})"));
  EXPECT_FALSE(may_hold({"1"}, R"({"index": 17})"));
  EXPECT_TRUE(may_hold({"default/17"}, R"({"group_id" : "17"})"));
  EXPECT_TRUE(may_hold({"a/17"}, R"({"index": "Level 3/17"})"));
  EXPECT_TRUE(may_hold({"4", "17", "9"}, R"({"index": 2, "sample": {"group_id": 9}})"));
  EXPECT_FALSE(may_hold({"9"}, R"({"index": 2, "group_id": null})"));
}

// Told from a row's text it must not be wrong about a row that holds one.
TEST(WantedRows, AreThoseOfWhichTheTextSaysTooLittle) {
  EXPECT_TRUE(may_hold({}, R"({"index": 1})"));
  EXPECT_TRUE(may_hold({"two words"}, R"({"index": 1})"));
  EXPECT_TRUE(may_hold({"17"}, R"({"\u0069ndex": 17})")) << "no such key is seen";
  EXPECT_TRUE(may_hold({"17"}, R"({"index": "\u0031\u0037"})"));
  EXPECT_TRUE(may_hold({"17"}, R"({"index": 17.0})"));
  EXPECT_TRUE(may_hold({"17"}, R"({"index": {"a": 1}})"));
  EXPECT_TRUE(may_hold({"17"}, R"({"index": "1)"));
  EXPECT_TRUE(may_hold({"17"}, R"({"index": 1)"));
}

// Of a text that quotes the key, each quote has a backslash before it.
TEST(WantedRows, AreNotToldByTextsThatQuoteTheKey) {
  EXPECT_FALSE(may_hold({"17"}, R"({"text": "\"index\": 17", "index": 5})"));
  EXPECT_FALSE(may_hold({"17"}, R"({"key": "index", "n": 17, "index": 5})"));
}

TEST(WantedRows, AWordStandsBetweenOtherCharacters) {
  const WantedRows rows({"17"});
  EXPECT_TRUE(rows.may_hold("samples/17_epoch_1.json"));
  EXPECT_FALSE(rows.may_hold("samples/117_epoch_1.json"));
}

}  // namespace
}  // namespace nb
