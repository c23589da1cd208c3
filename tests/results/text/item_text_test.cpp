#include "results/text/item_text.hpp"

#include <gtest/gtest.h>

namespace nb {
namespace {

TEST(ItemText, WhatPromptsShareEndsBetweenCharacters) {
  EXPECT_EQ(shared_beginning({}), "");
  EXPECT_EQ(shared_beginning({"one"}), "one");
  EXPECT_EQ(shared_beginning({"Q: x A: no", "Q: x A: yes"}), "Q: x A: ");
  EXPECT_EQ(shared_beginning({"ab", "abc", "ab"}), "ab");
  // é is C3 A9, è is C3 A8: their first byte alone is no text.
  EXPECT_EQ(shared_beginning({"caf\u00e9", "caf\u00e8"}), "caf");
}

TEST(ItemText, OneLineIsTheQuestionElseTheEndOfThePrompt) {
  ItemText text;
  EXPECT_EQ(one_line(text, 20), "");
  text.prompts = {"example\n\nWhat  is\n2 + 2? four", "example\n\nWhat  is\n2 + 2? five"};
  EXPECT_EQ(one_line(text, 80), "example What is 2 + 2? f");
  EXPECT_EQ(one_line(text, 11), "…s 2 + 2? f");
  text.question = "\n Who\twas\x1b[2J  it? ";
  EXPECT_EQ(one_line(text, 80), "Who was [2J it?");
  EXPECT_EQ(one_line(text, 5), "Who …");
}

}  // namespace
}  // namespace nb
