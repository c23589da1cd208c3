// A conversation, and its tokens as nanochat renders them (tokenizer.py). Training takes
// ids and masks, evaluation the prompt of the last answer. Plain values and free functions; not for
// reading files (conversation_json.hpp) nor for any one benchmark.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "harness/base/result.hpp"
#include "model/tokenizer/tokenizer.hpp"

namespace nb {

enum class Role { kSystem, kUser, kAssistant };
std::string_view name(Role role);  // "system", "user", "assistant"

// What an assistant's message is made of: its words, what it gives to the calculator, and what the
// calculator answered (never supervised).
enum class PartKind { kText, kPython, kPythonOutput };

struct MessagePart {
  PartKind kind = PartKind::kText;
  std::string text;
  bool operator==(const MessagePart&) const = default;
};

// Content that is one string is one text part. Parts are encoded one by one: no token crosses the
// border between two.
struct Message {
  Role role = Role::kUser;
  std::vector<MessagePart> parts;
  bool operator==(const Message&) const = default;
};

struct Conversation {
  std::vector<Message> messages;
  bool operator==(const Conversation&) const = default;
};

Message user_says(std::string text);
Message assistant_says(std::string text);
Message assistant_says(std::vector<MessagePart> parts);
std::string all_text(const Message& message);  // the parts' texts, joined

struct RenderedConversation {
  std::vector<int> ids;
  std::vector<std::uint8_t> mask;  // 1: supervised; same size as ids
};

inline constexpr std::size_t kMaxConversationTokens = 2048;

// An empty string: well formed. Else what is wrong: no messages, roles that do not alternate user,
// assistant, … after one optional leading system message, a user's or system's message that is not
// one text part.
std::string conversation_fault(const Conversation& conversation);

// A leading system message joins the first user's as "system\n\nuser". The first max_tokens ids and
// mask entries are kept. Errors: conversation_fault(), a tokenizer without the special tokens.
Result<RenderedConversation> render_conversation(const Tokenizer& tokenizer,
                                                 const Conversation& conversation,
                                                 std::size_t max_tokens = kMaxConversationTokens);

// The prompt of the last message, which must be the assistant's: everything before it (cut to
// max_tokens as above) and <|assistant_start|>.
Result<std::vector<int>> render_for_completion(const Tokenizer& tokenizer,
                                               const Conversation& conversation,
                                               std::size_t max_tokens = kMaxConversationTokens);

}  // namespace nb
