// What servers answer, read: models, log-probabilities in three dialects, generated tokens, errors.
// Pure functions of an answer's text or JSON. Errors say what the answer lacks, to stand behind
// "<server> answers with ": "1 entry of prompt log-probabilities for 12 tokens".
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/base/json_io.hpp"
#include "harness/base/result.hpp"

namespace nb {

class Tokenizer;

// JSON as servers write it: Python's NaN, Infinity and -Infinity become null, which no reader below
// takes for a number. HTML, other text and broken JSON are said to be so; nothing of it is quoted.
Result<Json> parse_answer(std::string_view body);
// The one line that an error answer has for people (OpenAI's, FastAPI's and plain forms), up to the
// first bracket, behind which servers quote what they were sent. Empty: none.
std::string message_of(std::string_view body);

struct ServedModel {
  std::string id;
  std::string owner;  // "vllm", "sglang", "llamacpp"; empty: not said
  std::optional<std::int64_t> max_model_len;
  std::optional<int> vocab_size = {};  // llama.cpp's
  // What the server says of how it computes: "device" → "ascend_910b3", "matmul inputs" → "bf16".
  std::map<std::string, std::string> told = {};
};
// GET /v1/models.
Result<std::vector<ServedModel>> parse_models(const Json& answer);

// Ids of POST /tokenize.
Result<std::vector<int>> parse_tokens(const Json& answer);
// Text of POST /detokenize: "prompt" (vLLM, npubench), "content" (llama.cpp), "text" (sglang).
Result<std::string> parse_text(const Json& answer);

// Members of an object that are texts, numbers or booleans, as short texts: those that are named,
// else all.
std::map<std::string, std::string> parse_told(const Json& object,
                                              std::span<const std::string_view> names = {});

// Where a server puts the log-probabilities of a prompt.
enum class Dialect : std::uint8_t {
  kPromptLogprobs,  // vLLM: choices[0].prompt_logprobs, a dictionary of ids a position
  kEcho,            // OpenAI's first completions: echo and logprobs, by token texts
  kSglang,          // POST /generate: meta_info.input_token_logprobs
};
std::string_view name(Dialect dialect);  // "prompt_logprobs", "echo", "sglang"

// Of one token of a prompt, from those before it. Natural logarithms.
struct TokenScore {
  float log_prob = 0;      // NaN: the server's number is none, or its floor for "impossible"
  float top_log_prob = 0;  // of the most likely token
  int top = -1;            // its id; -1: a text that is no token of ours
  bool is_floor = false;   // log_prob was -9999 or below, as vLLM writes minus infinity
};
// Of tokens[1, …): one entry fewer than tokens. The ids in the answer must be those that were sent.
// first: entries of tokens in front of it may be missing (logprob_start_len of sglang and
// npubench).
Result<std::vector<TokenScore>> parse_scores(Dialect dialect, const Json& answer,
                                             std::span<const int> tokens,
                                             const Tokenizer& tokenizer, std::size_t first = 1);
// The most likely token where the given one has these scores: the lowest id among the two that are
// known where both are equally likely, as nanochat's argmax does among all.
int argmax_of(const TokenScore& score, int token);

struct Generated {
  std::optional<std::vector<int>> tokens;  // none: the server says texts only
  std::string text;
  std::string finish_reason;        // "stop", "length"; empty: not said
  std::optional<int> stop_token;    // that ended it and is not among the tokens: vLLM's stop_reason
  std::int64_t prompt_tokens = -1;  // as the server counts them; -1: not said
  std::vector<float> log_probs;     // of the new tokens; empty: not told of each
  // Of the first new token: the likeliest tokens by their texts or "token_id:N", with log-probs.
  std::vector<std::pair<std::string, float>> first_top;
};
// A completion with one prompt and one sample: the choice of index 0, wherever it stands.
Result<Generated> parse_generated(const Json& answer);

}  // namespace nb
