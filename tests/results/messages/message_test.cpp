#include "results/messages/message.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "results/messages/sentences.hpp"

namespace nb {
namespace {

// That both languages are there with the same places is checked while compiling (message.cpp). A
// sentence that was left in English: only joints and texts as they are may look so.
TEST(Message, ChineseIsChinese) {
  const auto is_ascii = [](std::string_view text) {
    return std::ranges::all_of(text, [](char c) { return static_cast<unsigned char>(c) < 0x80; });
  };
  for (const MessageRow& row : kMessages)
    EXPECT_FALSE(is_ascii(row.zh) && !row.joins() && row.key != "verbatim") << row.key;
}

TEST(Message, IsSaidInTheReadersLanguageWithItsNumbers) {
  const Sentence said = message("gate.few_flips", 3, 40, 6);
  EXPECT_EQ(text_of(said),
            "only 3 of 40 answers differ; at least 6 flips in one direction are needed");
  EXPECT_EQ(text_of(said, Language::kZh), "40 个回答中只有 3 个不同；至少需要 6 个同方向的翻转");
}

TEST(Message, SentencesInASentenceAreTranslatedToo) {
  const Sentence said = message("gate.first_line", message("gate.cannot_tell"), 0,
                                message("about", "mw/facts of eval", message("gate.equal")));
  EXPECT_EQ(text_of(said), "can't tell (exit 0): mw/facts of eval: equal");
  EXPECT_EQ(text_of(said, Language::kZh), "无法判定（退出码 0）：mw/facts of eval：相同");
}

TEST(Message, ATextAsItIsIsTheSameInEveryLanguage) {
  EXPECT_EQ(text_of(verbatim("disk {full}"), Language::kZh), "disk {full}");
  EXPECT_EQ(text_of(message("gate.node_failed", "no space {0}")), "the node failed: no space {0}");
  EXPECT_TRUE(Sentence().empty());
  EXPECT_TRUE(verbatim("").empty());
}

TEST(Message, OneIsSingular) {
  EXPECT_EQ(text_of(message("seeds.paired", 1)), "1 seed, paired");
  EXPECT_EQ(text_of(message("seeds.paired", 5)), "5 seeds, paired");
  EXPECT_EQ(text_of(message("seeds.paired", 1), Language::kZh), "1 个种子，成对");
}

TEST(Message, PartsThatSayNothingAreNotJoined) {
  const Sentence one = message("gate.accept");
  EXPECT_EQ(joined("join.semicolon", {{}, one, {}}), one);
  EXPECT_TRUE(joined("join.semicolon", {{}, {}}).empty());
  EXPECT_EQ(text_of(joined("join.comma", {verbatim("a"), verbatim("b")}), Language::kZh), "a、b");
  Sentence said = one;
  append(said, {});
  EXPECT_EQ(said, one);
  append(said, message("gate.equal"));
  EXPECT_EQ(text_of(said), "accept as a new baseline?; equal");
}

TEST(Message, LongListsAreCut) {
  EXPECT_EQ(text_of(listed({"a", "b"}, 2)), "a, b");
  EXPECT_EQ(text_of(listed({"a", "b", "c"}, 2)), "a, b and 1 more");
  EXPECT_EQ(text_of(listed({"a", "b", "c"}, 2), Language::kZh), "a, b 以及另外 1 项");
}

// What programs read: which sentence it is and what it is said of.
TEST(Message, JsonHasIdAndArguments) {
  const Sentence said = message("about", "train base", message("gate.node_failed", "killed"));
  EXPECT_EQ(json_of(said), Json::parse(R"({"id": "about", "arguments": ["train base",
      {"id": "gate.node_failed", "arguments": ["killed"]}]})"));
  EXPECT_EQ(json_of(verbatim("as it is")),
            Json::parse(R"({"id": "verbatim", "arguments": ["as it is"]})"));
  EXPECT_TRUE(json_of(Sentence()).is_null());
  Json json;
  add_message(json, "reason", said);
  EXPECT_EQ(json["reason"], "train base: the node failed: killed");
  EXPECT_EQ(json["reason_message"], json_of(said));
}

TEST(Message, IsReadBackFromItsJson) {
  const Sentence list = joined("join.semicolon", {message("gate.equal"), verbatim("x")});
  for (const Sentence& one : {message("about", "a", list), verbatim("b"), list, Sentence()})
    EXPECT_EQ(message_from(json_of(one)), one) << text_of(one);
  EXPECT_EQ(message_from(Json("a text of an older program")),
            verbatim("a text of an older program"));
}

// A newer program's: its English stands beside it.
TEST(Message, WhatIsNotKnownIsNothing) {
  for (const char* text : {R"({"id": "gate.of_tomorrow", "arguments": []})",
                           R"({"id": "about", "arguments": ["one"]})", R"({"id": 3})", "[]", "3",
                           R"({"id": "about", "arguments": ["a", {"id": "of.tomorrow"}]})"})
    EXPECT_TRUE(message_from(Json::parse(text)).empty()) << text;
}

}  // namespace
}  // namespace nb
