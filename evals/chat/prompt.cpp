#include "evals/chat/prompt.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <limits>
#include <utility>

namespace nb {

Result<ChatPrompt> chat_prompt(const Tokenizer& tokenizer, const Conversation& conversation,
                               std::int64_t max_tokens) {
  if (max_tokens < 2)
    return bad_input(
        fmt::format("the context leaves {} tokens for the prompt; lower max_new_tokens or use a "
                    "model with a longer context",
                    std::max<std::int64_t>(max_tokens, 0)));
  const std::size_t room =
      std::min(kMaxConversationTokens, static_cast<std::size_t>(max_tokens) - 1);
  NB_TRY(std::vector<int> tokens,
         render_for_completion(tokenizer, conversation, std::numeric_limits<std::size_t>::max()));
  ChatPrompt prompt;
  const std::size_t before = tokens.size() - 1;  // without <|assistant_start|>
  if (before > room) {
    prompt.cut_tokens = static_cast<std::int64_t>(before - room);
    tokens[room] = tokens.back();
    tokens.resize(room + 1);
  }
  prompt.tokens = std::move(tokens);
  return prompt;
}

Conversation asked(std::string question) {
  return {{user_says(std::move(question)), assistant_says(std::string())}};
}

}  // namespace nb
