#include "model/data/tasks/conversation_json.hpp"

#include <gtest/gtest.h>

#include "model/tokenizer/utf8.hpp"
#include "tests/support/data_dir.hpp"

namespace nb {
namespace {

std::string parse_error(const std::string& text) {
  const auto conversations = parse_conversations(text, "c.jsonl");
  return conversations ? "no error" : conversations.error().message;
}

TEST(ConversationJson, ReadsListsAndObjects) {
  const auto conversations = parse_conversations(
      "[{\"role\": \"user\", \"content\": \"a\"}, {\"role\": \"assistant\", \"content\": "
      "\"b\"}]\r\n"
      "{\"messages\": [{\"role\": \"system\", \"content\": \"s\"}, {\"role\": \"user\", "
      "\"content\": \"a\"}, {\"role\": \"assistant\", \"content\": [{\"type\": \"text\", \"text\": "
      "\"x\"}, {\"type\": \"python\", \"text\": \"1\"}, {\"type\": \"python_output\", \"text\": "
      "\"1\"}]}], \"source\": \"y\"}\n",
      "c.jsonl");
  ASSERT_TRUE(conversations.has_value()) << conversations.error().message;
  ASSERT_EQ(conversations->size(), 2u);
  EXPECT_EQ((*conversations)[0], (Conversation{{user_says("a"), assistant_says("b")}}));
  EXPECT_EQ((*conversations)[1].messages[0].role, Role::kSystem);
  EXPECT_EQ((*conversations)[1].messages[2].parts,
            (std::vector<MessagePart>{
                {PartKind::kText, "x"}, {PartKind::kPython, "1"}, {PartKind::kPythonOutput, "1"}}));
}

TEST(ConversationJson, NamesFileLineAndMessage) {
  EXPECT_EQ(parse_error("5"),
            "c.jsonl:1: expected a list of messages, or an object with a list \"messages\"");
  EXPECT_EQ(parse_error("{\"messages\": 1}"),
            "c.jsonl:1: expected a list of messages, or an object with a list \"messages\"");
  EXPECT_EQ(parse_error("[]"), "c.jsonl:1: a conversation without messages");
  EXPECT_EQ(parse_error("[{\"role\": \"user\", \"content\": \"a\"}]"),
            "c.jsonl:1: a conversation needs a user's and an assistant's message");
  EXPECT_EQ(parse_error("[{\"role\": \"user\"}]"),
            "c.jsonl:1: message 1: \"content\" is missing (a string); a message has role, content");
  EXPECT_EQ(parse_error("[{\"role\": \"bot\", \"content\": \"a\"}]"),
            "c.jsonl:1: message 1: role is \"bot\", but must be system, user or assistant");
  EXPECT_EQ(parse_error("[{\"role\": \"user\", \"content\": []}, {\"role\": \"assistant\", "
                        "\"content\": \"b\"}]"),
            "c.jsonl:1: message 1: the user's content must be one string");
  EXPECT_EQ(parse_error("[{\"role\": \"user\", \"content\": \"a\"}, {\"role\": \"assistant\", "
                        "\"content\": [{\"type\": \"image\", \"text\": \"\"}]}]"),
            "c.jsonl:1: message 2: part 1: type is \"image\", but must be text, python or "
            "python_output");
  EXPECT_EQ(parse_error("[{\"role\": \"system\", \"content\": \"s\"}, {\"role\": \"user\", "
                        "\"content\": \"a\"}, {\"role\": \"assistant\", \"content\": \"b\"}]"),
            "c.jsonl:1: a plain list of messages has no system message; use {\"messages\": […]}");
  EXPECT_EQ(parse_error("\n\n[{\"role\": \"user\", \"content\": \"a\"}, {\"role\": \"user\", "
                        "\"content\": \"b\"}]"),
            "c.jsonl:3: message 2 is the user's, but must be the assistant's (they alternate)");
}

TEST(ConversationJson, ReadsTheIdentityConversations) {
  NB_NEEDS_DATA();
  const auto conversations =
      read_conversations(test::data_dir() / "chat" / "identity_conversations.jsonl");
  ASSERT_TRUE(conversations.has_value()) << conversations.error().message;
  EXPECT_EQ(conversations->size(), 996u);
}

}  // namespace
}  // namespace nb
