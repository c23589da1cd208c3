// Log-probabilities in the words of OpenAI's two forms, and in vLLM's of a prompt.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "harness/base/json_io.hpp"
#include "harness/serve/completion_request.hpp"
#include "model/engine/language_model.hpp"
#include "model/tokenizer/tokenizer.hpp"

namespace nb {

// A token of a prompt or an answer with what is known of it.
struct ScoredToken {
  int token = 0;
  std::optional<float> log_prob = {};
  std::vector<TokenLogProb> top = {};
};

// OpenAI's two forms. Both arguments must outlive this.
class LogProbWriter {
 public:
  LogProbWriter(const CompletionRequest& request, const Tokenizer& tokenizer)
      : request_(request), tokenizer_(tokenizer) {}

  // A chat's: {"content": [{"token", "logprob", "bytes", "top_logprobs"}]}. A completion's:
  // {"tokens", "token_logprobs", "top_logprobs", "text_offset"}; offsets count code points of the
  // whole text, of which `offset` stand before these.
  Json of(std::span<const ScoredToken> tokens, std::size_t offset) const {
    return request_.is_chat ? of_chat(tokens) : of_completion(tokens, offset);
  }

 private:
  Json of_completion(std::span<const ScoredToken> tokens, std::size_t offset) const;
  Json of_chat(std::span<const ScoredToken> tokens) const;
  std::string name(int token) const;
  std::span<const TokenLogProb> likeliest(const ScoredToken& token) const;
  Json dictionary(const ScoredToken& token) const;
  Json entry_of(const TokenLogProb& token) const;

  const CompletionRequest& request_;
  const Tokenizer& tokenizer_;
};

// vLLM's form: null, then {"42": {"logprob": -1.5, "rank": 3}, ...} for each token of the prompt,
// with its k likeliest. unscored: tokens before these, each a null.
Json prompt_log_probs(std::size_t unscored, std::span<const ScoredToken> tokens, int k);

}  // namespace nb
