// A conversation with a model, turn by turn, as nanochat's chat_cli.py leads it:
// the tokens of earlier answers stay as they were generated. A model whose tokenizer has no chat
// tokens completes each text by itself instead.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/base/result.hpp"
#include "model/engine/language_model.hpp"

namespace nb {

struct ChatSettings {
  bool completes = false;  // goes on from the text itself; no turns, no chat tokens
  double temperature = 0.6;
  std::optional<int> top_k = 50;
  std::int64_t max_tokens = 256;  // of an answer
  std::uint64_t seed = 42;        // each turn draws anew from it
};

struct ChatReply {
  std::string text;
  std::vector<int> tokens;
  std::int64_t prompt_tokens = 0;
  StopReason stop = StopReason::kMaxTokens;
};

// The tokenizer can render conversations.
bool has_chat_tokens(const Tokenizer& tokenizer);

class ChatSession {
 public:
  // `model` must outlive this. NB_CHECK: completes, or has_chat_tokens.
  ChatSession(LanguageModel& model, const ChatSettings& settings);

  // The model's answer to one message; on_text hears it in pieces of valid UTF-8. bad_input when
  // the message is empty or the conversation does not fit the context; the session is unchanged
  // then.
  Result<ChatReply> say(std::string_view text,
                        const std::function<void(std::string_view)>& on_text = {});
  void clear();  // forgets the conversation

 private:
  std::vector<int> prompt_for(std::string_view text) const;

  LanguageModel& model_;
  ChatSettings settings_;
  std::vector<int> conversation_;
};

}  // namespace nb
