#include "model/tokenizer/chat_tokens.hpp"

#include <fmt/format.h>

#include <string>
#include <vector>

namespace nb {

std::string tokenizer_name(const Tokenizer& tokenizer) {
  return fmt::format("tokenizer {} ({} tokens)", tokenizer.hash().substr(0, 12),
                     tokenizer.vocab_size());
}

Result<ChatTokens> chat_tokens(const Tokenizer& tokenizer) {
  ChatTokens tokens;
  std::vector<std::string> missing;
  const auto find = [&](const char* name, int& id) {
    id = tokenizer.special(name);
    if (id < 0) missing.emplace_back(name);
  };
  find("<|bos|>", tokens.bos);
  find("<|user_start|>", tokens.user_start);
  find("<|user_end|>", tokens.user_end);
  find("<|assistant_start|>", tokens.assistant_start);
  find("<|assistant_end|>", tokens.assistant_end);
  find("<|python_start|>", tokens.python_start);
  find("<|python_end|>", tokens.python_end);
  find("<|output_start|>", tokens.output_start);
  find("<|output_end|>", tokens.output_end);
  if (missing.empty()) return tokens;
  return bad_input(
      fmt::format("{} has no {}: it cannot hold a conversation; use one trained here or nanochat's",
                  tokenizer_name(tokenizer), fmt::join(missing, ", ")));
}

}  // namespace nb
