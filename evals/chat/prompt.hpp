// The prompt of a conversation's last answer, as long as the model can take it.
#pragma once

#include <cstdint>
#include <vector>

#include "harness/base/result.hpp"
#include "model/data/tasks/conversation.hpp"
#include "model/tokenizer/tokenizer.hpp"

namespace nb {

struct ChatPrompt {
  std::vector<int> tokens;      // at most max_tokens, the last one <|assistant_start|>
  std::int64_t cut_tokens = 0;  // dropped
};

// render_for_completion() of nanochat's tokenizer.py, cut as nanochat cuts: what comes after the
// first 2048 tokens goes, or after the first max_tokens − 1 where that is less. So a prompt that is
// too long loses its end, not its beginning. An error when max_tokens leaves no room at all.
Result<ChatPrompt> chat_prompt(const Tokenizer& tokenizer, const Conversation& conversation,
                               std::int64_t max_tokens);

// The conversation with an empty answer to be asked for: render_for_completion() drops it.
Conversation asked(std::string question);

}  // namespace nb
