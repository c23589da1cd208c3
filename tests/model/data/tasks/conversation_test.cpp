#include "model/data/tasks/conversation.hpp"

#include <gtest/gtest.h>

#include "model/tokenizer/chat_tokens.hpp"
#include "tests/support/chat_tokenizer.hpp"

namespace nb {
namespace {

constexpr int kBos = 256, kUserStart = 257, kUserEnd = 258, kAssistantStart = 259,
              kAssistantEnd = 260, kPythonStart = 261, kPythonEnd = 262, kOutputStart = 263,
              kOutputEnd = 264;

RenderedConversation rendered(const Conversation& conversation, std::size_t max_tokens = 2048) {
  auto result = render_conversation(test::byte_tokenizer(), conversation, max_tokens);
  EXPECT_TRUE(result.has_value()) << result.error().message;
  return *result;
}

std::string render_error(const Conversation& conversation) {
  const auto result = render_conversation(test::byte_tokenizer(), conversation);
  return result ? "no error" : result.error().message;
}

TEST(Conversation, SupervisesWhatTheAssistantSaysAndItsEnd) {
  const auto result = rendered({{user_says("hi"), assistant_says("yo")}});
  EXPECT_EQ(result.ids, (std::vector<int>{kBos, kUserStart, 'h', 'i', kUserEnd, kAssistantStart,
                                          'y', 'o', kAssistantEnd}));
  EXPECT_EQ(result.mask, (std::vector<std::uint8_t>{0, 0, 0, 0, 0, 0, 1, 1, 1}));
}

TEST(Conversation, SupervisesCallsOfTheToolButNotItsAnswers) {
  const auto result = rendered(
      {{user_says("2"), assistant_says(std::vector<MessagePart>{{PartKind::kText, "a"},
                                                                {PartKind::kPython, "1+1"},
                                                                {PartKind::kPythonOutput, "2"},
                                                                {PartKind::kText, ""},
                                                                {PartKind::kText, "b"}})}});
  EXPECT_EQ(result.ids, (std::vector<int>{kBos, kUserStart, '2', kUserEnd, kAssistantStart, 'a',
                                          kPythonStart, '1', '+', '1', kPythonEnd, kOutputStart,
                                          '2', kOutputEnd, 'b', kAssistantEnd}));
  EXPECT_EQ(result.mask,
            (std::vector<std::uint8_t>{0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 0, 0, 0, 1, 1}));
}

TEST(Conversation, JoinsTheSystemMessageWithTheFirstUserMessage) {
  const Message system = {Role::kSystem, {{PartKind::kText, "s"}}};
  EXPECT_EQ(
      rendered({{system, user_says("u"), assistant_says("a"), user_says("v"), assistant_says("b")}})
          .ids,
      rendered({{user_says("s\n\nu"), assistant_says("a"), user_says("v"), assistant_says("b")}})
          .ids);
}

TEST(Conversation, KeepsTheFirstTokensOfALongOne) {
  const Conversation conversation = {{user_says("hello"), assistant_says("there")}};
  const auto whole = rendered(conversation), cut = rendered(conversation, 10);
  ASSERT_GT(whole.ids.size(), 10u);
  EXPECT_EQ(cut.ids, std::vector<int>(whole.ids.begin(), whole.ids.begin() + 10));
  EXPECT_EQ(cut.mask, std::vector<std::uint8_t>(whole.mask.begin(), whole.mask.begin() + 10));
}

TEST(Conversation, TextThatLooksLikeASpecialStaysText) {
  const auto result = rendered({{user_says("<|bos|>"), assistant_says("")}});
  EXPECT_EQ(std::count(result.ids.begin(), result.ids.end(), kBos), 1);
  EXPECT_EQ(result.ids.size(), 3 + 7 + 2u);
}

TEST(Conversation, PromptEndsWhereTheAssistantBegins) {
  const Conversation conversation = {
      {user_says("a"), assistant_says("b"), user_says("c"), assistant_says("never shown")}};
  const auto prompt = render_for_completion(test::byte_tokenizer(), conversation);
  ASSERT_TRUE(prompt.has_value());
  EXPECT_EQ(*prompt, (std::vector<int>{kBos, kUserStart, 'a', kUserEnd, kAssistantStart, 'b',
                                       kAssistantEnd, kUserStart, 'c', kUserEnd, kAssistantStart}));
  const auto cut = render_for_completion(test::byte_tokenizer(), conversation, 3);
  EXPECT_EQ(*cut, (std::vector<int>{kBos, kUserStart, 'a', kAssistantStart}));
}

TEST(Conversation, PromptNeedsAnAnswerToLeaveOut) {
  const auto prompt = render_for_completion(test::byte_tokenizer(), {{user_says("a")}});
  ASSERT_FALSE(prompt.has_value());
  EXPECT_EQ(prompt.error().message,
            "the last message must be the assistant's to ask for a completion");
}

TEST(Conversation, RefusesRolesThatDoNotAlternate) {
  EXPECT_EQ(render_error({}), "a conversation without messages");
  EXPECT_EQ(render_error({{assistant_says("a")}}),
            "message 1 is the assistant's, but must be the user's (they alternate)");
  EXPECT_EQ(render_error({{user_says("a"), user_says("b")}}),
            "message 2 is the user's, but must be the assistant's (they alternate)");
  EXPECT_EQ(render_error({{{Role::kSystem, {{PartKind::kText, "s"}}}}}),
            "a system message and no user after it");
  EXPECT_EQ(render_error({{{Role::kUser, {{PartKind::kPython, "1"}}}}}),
            "message 1: the user's content must be one string");
}

TEST(ChatTokens, NameTheTokenizerThatHasNone) {
  Vocabulary vocabulary;
  for (int byte = 0; byte < 256; ++byte) vocabulary.tokens.emplace_back(1, static_cast<char>(byte));
  vocabulary.tokens.emplace_back();
  vocabulary.specials = {{"<|bos|>", 256}};
  const Tokenizer plain(std::move(vocabulary));
  const auto tokens = chat_tokens(plain);
  ASSERT_FALSE(tokens.has_value());
  EXPECT_EQ(
      tokens.error().message,
      "tokenizer " + plain.hash().substr(0, 12) +
          " (257 tokens) has no <|user_start|>, <|user_end|>, <|assistant_start|>, "
          "<|assistant_end|>, <|python_start|>, <|python_end|>, <|output_start|>, <|output_end|>: "
          "it cannot hold a conversation; use one trained here or nanochat's");
}

}  // namespace
}  // namespace nb
