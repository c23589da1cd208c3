// What a client of /v1/completions or /v1/chat/completions asks for, out of its JSON: OpenAI's
// members and vLLM's extras, checked. A member that would change the tokens and is not implemented
// is refused; one that is unknown is listed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

#include "harness/serve/body.hpp"
#include "model/engine/generate_request.hpp"
#include "model/tokenizer/tokenizer.hpp"

namespace nb {

// When a <|bos|> is put in front of a prompt.
enum class BosRule : std::uint8_t {
  kAuto,    // of texts, unless add_special_tokens is false; never of ids
  kAlways,  // of every prompt that does not begin with one; an echo hides it
  kNever,
};

// What a request may ask for at most, and how it is read.
struct ServedLimits {
  const Tokenizer* tokenizer = nullptr;
  std::int64_t context_length = 0;
  BosRule bos = BosRule::kAuto;
};

struct ServedPrompt {
  std::vector<int> tokens;
  std::size_t hidden = 0;  // of them in front that an echo does not show
};

struct CompletionRequest {
  bool is_chat = false;
  std::string model;  // empty: the only one
  std::vector<ServedPrompt> prompts;
  int n = 1;
  std::int64_t max_tokens = 16;
  // Sampling and stopping, without prompt, num_samples and max_tokens.
  GenerateRequest sampling;
  bool has_seed = false;  // false: sampling.seed is to be drawn
  std::vector<int> stop_token_ids;
  std::vector<std::string> stop;
  bool includes_stop = false;  // the string that was hit stays in the text
  bool skips_specials = true;
  bool echo = false;
  std::optional<int> logprobs;         // so many likeliest tokens beside each
  std::optional<int> prompt_logprobs;  // the same of the prompt, by ids
  std::size_t first_scored = 1;        // npubench's logprob_start_len: entries before it are null
  bool returns_ids = false;
  bool tokens_as_ids = false;
  bool streams = false, includes_usage = false;
  std::vector<std::string> ignored;  // members that mean nothing here

  bool scores_prompt() const { return prompt_logprobs || (echo && logprobs); }
};

tl::expected<CompletionRequest, ApiError> parse_completion(std::string_view body,
                                                           const ServedLimits& limits);
tl::expected<CompletionRequest, ApiError> parse_chat_completion(std::string_view body,
                                                                const ServedLimits& limits);

// Ids of a conversation up to where the answer begins (nanochat's render_for_completion): a system
// message goes before the first user message.
struct ChatMessage {
  std::string role, content;
};
tl::expected<std::vector<int>, ApiError> render_chat(std::span<const ChatMessage> messages,
                                                     const Tokenizer& tokenizer);
// Of a body's "messages".
std::vector<ChatMessage> read_messages(Body& body);

// A prompt's ids as a text is encoded; `wants_bos`: of a text, what add_special_tokens says.
ServedPrompt prompt_of(std::vector<int> tokens, bool wants_bos, const ServedLimits& limits);

}  // namespace nb
