#include "harness/remote/messages.hpp"

#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "harness/base/check.hpp"
#include "model/tokenizer/chat_tokens.hpp"

namespace nb {

Tokenizer with_chat_tokens(Tokenizer tokenizer) {
  if (chat_tokens(tokenizer)) return tokenizer;
  return tokenizer.with_specials(nanochat_specials());
}

Json messages_of(std::span<const int> prompt, const Tokenizer& tokenizer) {
  const auto special = chat_tokens(tokenizer);
  NB_CHECK(special.has_value(), "[remote] a conversation without special tokens");
  Json messages = Json::array();
  std::string role;  // empty: nobody speaks
  std::vector<int> content;
  const auto end = [&] {
    std::string text = tokenizer.decode(content);
    // SentencePiece's own, which stands in front of whatever it encodes.
    if (tokenizer.puts_space_in_front() && text.starts_with(' ')) text.erase(0, 1);
    if (!role.empty() && !content.empty())
      messages.push_back({{"role", role}, {"content", std::move(text)}});
    role.clear();
    content.clear();
  };
  // A prompt that was cut may lack an end.
  for (const int token : prompt) {
    if (token == special->user_start || token == special->assistant_start) {
      end();
      role = token == special->user_start ? "user" : "assistant";
    } else if (token == special->user_end || token == special->assistant_end) {
      end();
    } else if (token != special->bos) {
      content.push_back(token);
    }
  }
  end();
  return messages;
}

}  // namespace nb
