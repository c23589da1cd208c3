// Conversations as token ids with their masks, in the order in which a chat stage takes them. Made
// once, then read by the loaders of this folder. Not here: which conversations (tasks/), batches.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "harness/base/result.hpp"
#include "model/data/tasks/conversation.hpp"

namespace nb {

struct ConversationSet {
  std::vector<RenderedConversation> rendered;
  std::uint64_t tokens = 0;  // of all of them
  std::string sha256;        // of all ids and masks
};

// SHA-256 of all ids and masks.
std::string digest_of(std::span<const RenderedConversation> conversations);

// In parallel. Each is cut to its first max_tokens, which may leave no token of an answer. Errors
// name the conversation by its number, from 1: conversation_fault().
Result<ConversationSet> render_conversations(const Tokenizer& tokenizer,
                                             std::span<const Conversation> conversations,
                                             std::size_t max_tokens, const std::string& where);

}  // namespace nb
