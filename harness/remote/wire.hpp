// What is asked of a server, as its requests: bodies of the documented forms, nothing else. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "harness/base/json_io.hpp"
#include "harness/http/client.hpp"
#include "harness/remote/answers.hpp"
#include "harness/remote/connection.hpp"

namespace nb {

// Whom and how: the base URL with its path ("/v1"), the model's id, and the extras that this
// server takes (vLLM's; OpenAI's own refuses unknown members).
struct Wire {
  HttpUrl base;
  std::string model;
  bool has_extras = true;
  // npubench's: scores before `start` need not come back (logprob_start_len), nor a new token
  // behind them.
  bool cuts_scores = false;
  // llama.cpp's: ids of an answer are told beside its log-probabilities only.
  bool ids_by_log_probs = false;

  RemoteCall models() const;          // GET /v1/models
  RemoteCall version() const;         // GET /version
  RemoteCall tokenizer_info() const;  // GET /tokenizer_info
  // Ids of a text, without <|bos|> in front unless `marked`: vLLM's form, and llama.cpp's in the
  // same body. reads_names: names of special tokens in it are these tokens; llama.cpp can be asked
  // for the other, vLLM's tokenizers always read them.
  RemoteCall tokenize(const std::string& text, bool marked = false, bool reads_names = true) const;
  RemoteCall detokenize(std::span<const int> tokens) const;
  // What the server's chat template makes of messages: ids (vLLM, sglang), or a text (llama.cpp).
  RemoteCall tokenize_chat(const Json& messages) const;
  RemoteCall apply_template(const Json& messages) const;
  // Log-probabilities of a prompt's tokens from `start` on, one new token.
  RemoteCall score(Dialect dialect, std::span<const int> tokens, std::size_t start,
                   double temperature = 0) const;

  struct Generation {
    std::int64_t max_tokens = 1;
    double temperature = 0;
    std::optional<int> top_k;
    std::uint64_t seed = 0;
    std::vector<int> stop_tokens;     // ids that end it; with extras only
    std::vector<int> allowed_tokens;  // nothing else may be said: vLLM's allowed_token_ids
    std::vector<int> biased_tokens;   // the same by logit_bias +100
    int top = 0;                      // the likeliest first tokens, with log-probs
  };
  RemoteCall generate(std::span<const int> prompt, const Generation& generation) const;
  // An answer to messages: POST /v1/chat/completions.
  RemoteCall chat(const Json& messages, const Generation& generation) const;
  // A prompt as a text, one new token: what the server makes of it is counted in "usage".
  RemoteCall complete_text(const std::string& text) const;
};

}  // namespace nb
