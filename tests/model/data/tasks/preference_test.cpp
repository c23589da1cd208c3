#include "model/data/tasks/preference.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "model/data/tasks/gsm8k.hpp"
#include "model/data/tasks/multiple_choice.hpp"

namespace nb {
namespace {

std::string error_of(const std::string& rows) {
  const auto pairs = parse_preferences(rows, "p.jsonl");
  return pairs ? std::string() : pairs.error().message;
}

TEST(Preferences, AllUsualFormsAreTheSamePair) {
  const Preference expected = {{{user_says("2+2?"), assistant_says("4")}},
                               {{user_says("2+2?"), assistant_says("5")}}};
  const std::string user = R"({"role": "user", "content": "2+2?"})";
  const auto says = [](const char* text) {
    return std::string(R"({"role": "assistant", "content": ")") + text + "\"}";
  };
  for (const std::string& row : std::vector<std::string>{
           R"({"prompt": "2+2?", "chosen": "4", "rejected": "5"})",
           R"({"prompt": [)" + user + R"(], "chosen": [)" + says("4") + R"(], "rejected": [)" +
               says("5") + "]}",
           R"({"messages": [)" + user + R"(], "chosen": "4", "rejected": "5"})",
           R"({"prompt": "2+2?", "chosen": [)" + user + "," + says("4") + R"(], "rejected": [)" +
               user + "," + says("5") + "]}",
           R"({"chosen": [)" + user + "," + says("4") + R"(], "rejected": [)" + user + "," +
               says("5") + "]}"}) {
    const auto pairs = parse_preferences(row, "p.jsonl");
    ASSERT_TRUE(pairs) << row << pairs.error().message;
    EXPECT_EQ(pairs->at(0), expected) << row;
    const auto again = parse_preferences(preference_json(pairs->at(0)).dump(), "p.jsonl");
    ASSERT_TRUE(again) << again.error().message;
    EXPECT_EQ(again->at(0), expected);
  }
}

TEST(Preferences, WhatIsWrongIsNamedWithFileAndLine) {
  const std::string good = R"({"prompt": "a", "chosen": "b", "rejected": "c"})"
                           "\n";
  EXPECT_EQ(error_of(good + R"({"prompt": "a", "chosen": "b", "rejected": "b"})"),
            "p.jsonl:2: chosen and rejected are the same answer; leave the pair out");
  EXPECT_EQ(error_of(R"({"prompt": "a", "chosen": " ", "rejected": "b"})"),
            "p.jsonl:1: chosen: an empty answer");
  EXPECT_EQ(error_of(R"({"prompt": "a", "chosen": "b"})"),
            "p.jsonl:1: a pair needs \"chosen\" and \"rejected\", and a \"prompt\" unless both are "
            "whole conversations");
  EXPECT_EQ(error_of(R"({"chosen": "b", "rejected": "c"})"),
            "p.jsonl:1: chosen: a text without a \"prompt\"");
  EXPECT_EQ(
      error_of(R"({"prompt": "a", "chosen": [{"role": "user", "content": "b"}], "rejected": "c"})"),
      "p.jsonl:1: chosen: message 2 is the user's, but must be the assistant's (they alternate)");
  EXPECT_EQ(
      error_of(
          R"({"chosen": [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}], )"
          R"("rejected": [{"role": "user", "content": "x"}, {"role": "assistant", "content": "c"}]})"),
      "p.jsonl:1: chosen and rejected answer different prompts; they must differ in the last "
      "message alone");
  EXPECT_EQ(error_of(R"({"chosen": [{"role": "user", "content": "a"}], )"
                     R"("rejected": [{"role": "user", "content": "b"}]})"),
            "p.jsonl:1: chosen: ends in the user's message, but must end in the assistant's");
}

TEST(Preferences, ASpoiledLetterIsAnotherOfTheQuestions) {
  ChoiceItem item;
  item.question = "Which?";
  item.choices = {"x", "y", "z"};
  item.letters = {"A", "B", "C"};
  item.gold = 1;
  const Conversation right = conversation_of(item);
  for (std::size_t i = 0; i < 4; ++i) {
    const auto pair = spoiled(right, i);
    ASSERT_TRUE(pair);
    EXPECT_EQ(pair->chosen, right);
    EXPECT_EQ(all_text(pair->rejected.messages.back()), i % 2 == 0 ? "C" : "A");
    EXPECT_EQ(preference_fault(*pair), "");
  }
}

TEST(Preferences, ASpoiledNumberIsAnother) {
  const Conversation right =
      conversation_of(Gsm8kItem{"", "How many?", "She has <<1+2=3>>3.\n#### 1,003"});
  for (std::size_t i = 0; i < 40; ++i) {
    const auto pair = spoiled(right, i);
    ASSERT_TRUE(pair);
    const std::string wrong = all_text(pair->rejected.messages.back());
    EXPECT_FALSE(is_right_answer(wrong, all_text(right.messages.back()))) << wrong;
    EXPECT_TRUE(extract_answer(wrong));
    EXPECT_EQ(preference_fault(*pair), "");
  }
}

TEST(Preferences, AnAnswerOfAnotherFormIsNotSpoiled) {
  EXPECT_FALSE(spoiled({{user_says("Hi"), assistant_says("Hello")}}, 0));
  EXPECT_FALSE(spoiled({{user_says("Hi"), assistant_says("#### many")}}, 0));
}

}  // namespace
}  // namespace nb
