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
  bool is_batch_invariant() const { return compared > 0 && max_abs_log_prob == 0 && flips == 0; }
};

// How a server takes the choice of a letter.
enum class LetterWay : std::uint8_t { kNone, kAllowedTokens, kLogitBias, kTopLogProbs };
std::string_view name(LetterWay way);

struct ProbeResult {
  std::string id;       // "P3"
  std::string outcome;  // "passed", "warned", "failed", "not asked"
  std::string text;     // one sentence
};

struct ServerFacts {
  std::string host;  // "gpu:8000"
  std::string kind;  // "vllm", "sglang", "llamacpp", "npubench"; "unknown"
  std::string version;
  ServedModel model;
  std::int64_t context_length = 0;

  std::optional<Dialect> dialect;  // of prompt log-probabilities; none: why_no_scores
  std::string why_no_scores;
  bool has_extras = false;   // vLLM's members are taken
  bool returns_ids = false;  // generated tokens come as ids
  bool names_stops = false;  // which of the given ids ended an answer is told
  LetterWay letters = LetterWay::kNone;
  std::string why_no_letters;

  ServerNoise noise;
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
