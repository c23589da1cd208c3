#include "model/data/chat/conversation_set.hpp"

#include <gtest/gtest.h>

#include "model/tokenizer/byte_tokenizer.hpp"

namespace nb {
namespace {

TEST(ConversationSet, HoldsRenderedConversationsInOrder) {
  const Tokenizer tokenizer = byte_tokenizer();
  const std::vector<Conversation> conversations = {{{user_says("Hi"), assistant_says("Hello")}},
                                                   {{user_says("1"), assistant_says("2")}}};
  const auto set = render_conversations(tokenizer, conversations, 2048, "c");
  ASSERT_TRUE(set.has_value()) << set.error().message;
  ASSERT_EQ(set->rendered.size(), 2u);
  EXPECT_EQ(set->rendered[1].ids, render_conversation(tokenizer, conversations[1])->ids);
  EXPECT_EQ(set->tokens, set->rendered[0].ids.size() + set->rendered[1].ids.size());
  const std::vector<Conversation> swapped = {conversations[1], conversations[0]};
  EXPECT_NE(render_conversations(tokenizer, swapped, 2048, "c")->sha256, set->sha256);
  EXPECT_NE(render_conversations(tokenizer, conversations, 5, "c")->sha256, set->sha256);
}

TEST(ConversationSet, NamesTheConversationThatIsWrong) {
  const Tokenizer tokenizer = byte_tokenizer();
  const std::vector<Conversation> conversations = {{{user_says("Hi"), assistant_says("Hello")}},
                                                   {{assistant_says("2")}}};
  EXPECT_EQ(render_conversations(tokenizer, conversations, 2048, "mid.jsonl").error().message,
            "mid.jsonl: conversation 2: message 1 is the assistant's, but must be the user's (they "
            "alternate)");
  EXPECT_EQ(render_conversations(tokenizer, {}, 2048, "mid.jsonl").error().message,
            "mid.jsonl: no conversation in it");
}

}  // namespace
}  // namespace nb
