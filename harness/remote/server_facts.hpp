// What the probes found out about a server: who it is, what it can do, how much its answers move.
// A plain value; its JSON is `environment/server` of a record.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "harness/base/json_io.hpp"
#include "harness/remote/answers.hpp"

namespace nb {

// Of one request, asked alone and among others.
struct ServerNoise {
  double max_abs_log_prob = 0;  // largest difference of a log-probability, nat
  std::int64_t flips = 0;       // likeliest tokens that changed
  std::int64_t compared = 0;    // answers
  bool has_log_probs = false;   // false: texts or ids alone were compared, which hide small moves
  bool is_batch_invariant() const {
    return compared > 0 && has_log_probs && max_abs_log_prob == 0 && flips == 0;
  }
};

// How a server takes the choice of a letter.
enum class LetterWay : std::uint8_t { kNone, kAllowedTokens, kLogitBias, kTopLogProbs };
std::string_view name(LetterWay way);

struct ProbeResult {
  std::string id;       // "P3"
  std::string outcome;  // "passed", "warned", "failed", "not asked"
  std::string text;     // one sentence
};

// What the server's chat template makes of a fixed conversation.
struct ChatTemplate {
  std::string by;      // "tokenize", "apply-template", "prompt_tokens"; empty: it cannot be seen
  std::string digest;  // of the ids or the text; empty: only their number is told
  std::int64_t tokens = 0;  // 0: not told
};

struct ServerFacts {
  bool by_chat = false;  // asked by messages, of which the server's own template makes prompts
  bool encodes = false;  // texts, too: no tokenizer of ours does
  std::string host;      // "gpu:8000"
  std::string kind;      // "vllm", "sglang", "llamacpp", "npubench"; "unknown"
  std::string version;
  ServedModel model;  // told: what its engine says elsewhere, too
  std::int64_t context_length = 0;

  std::optional<Dialect> dialect;  // of prompt log-probabilities; none: why_no_scores
  std::string why_no_scores;
  bool has_extras = false;   // vLLM's members are taken
  bool returns_ids = false;  // generated tokens come as ids
  bool names_stops = false;  // which of the given ids ended an answer is told
  LetterWay letters = LetterWay::kNone;
  int most_top = 0;  // kTopLogProbs: how many likely tokens it tells at once
  std::string why_no_letters;

  ServerNoise noise;
  ChatTemplate chat;
  // All differences of two logits of the canary are multiples of it: logits of 16 bits; 0: they
  // are finer.
  std::optional<double> logit_step;
  std::vector<ProbeResult> probes;
  std::vector<std::string> notes;  // for people, before the first item

  // The prompt that is asked again and again, to notice another model; its log-probabilities, or
  // without them the greedy tokens behind it.
  std::vector<int> canary;
  std::vector<float> canary_log_probs;
  std::vector<int> canary_tokens;
};

Json facts_json(const ServerFacts& facts);

// Why two canaries are not of one model; empty: they may be. Of the JSON of two records or runs.
std::string other_model(const Json& before, const Json& now);

}  // namespace nb
