// What to generate, and what came of it. Plain values. nanochat's engine.py (sampling and the rules
// of a row).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/engine/calculator.hpp"
#include "model/engine/sampling_options.hpp"

namespace nb {

// Text between <|python_start|> and <|python_end|> → text put between <|output_start|> and
// <|output_end|>; nothing: nothing is put there.
using ToolFunction = std::function<std::optional<std::string>(std::string_view expression)>;

// The natural logarithm of a token's probability, fp32: of the softmax of the model's logits before
// any rule of sampling, whatever the temperature. The same bits as ScoreResult::log_probs.
struct TokenLogProb {
  int token = 0;
  float log_prob = 0;
  bool operator==(const TokenLogProb&) const = default;
};

// A new token, told as soon as it is known.
struct NewToken {
  int sample = 0;
  int token = 0;
  bool chosen = true;  // by the model; false: forced by the tool
  // As in GeneratedSample, when asked for; the view dies with the call.
  float log_prob = 0;
  std::span<const TokenLogProb> top = {};
};

// What becomes of a sample behind its new token.
enum class AfterToken : std::uint8_t {
  kContinue,
  kStop,  // it ends with this token (StopReason::kCaller) and frees its place; no other sees it
};

struct GenerateRequest {
  std::vector<int> prompt = {};  // ids, at least one
  int num_samples = 1;
  std::int64_t max_tokens = 512;  // new ones a sample, those of the tool included
  // In place of max_tokens for each sample, at most that; empty: max_tokens for all. A dry device
  // ends no sample by itself.
  std::vector<std::int64_t> sample_tokens = {};
  double temperature = 1.0;       // 0: the most likely token, the lowest id among equals
  std::optional<int> top_k = {};  // at least 1; none: all tokens
  SamplingOptions sampling = {};  // top_p, penalties, ...; off
  std::uint64_t seed = 42;        // sample s at step t draws from (seed, s, t)
  bool tools = true;              // the calculator answers
  CalculatorRules calculator = CalculatorRules::kNew;
  ToolFunction tool = {};  // in place of the calculator
  // nanochat until 2025-12-28: the first token is drawn once and shared by all samples.
  bool shares_first_token = false;
  // Ids that end a sample; empty: <|assistant_end|> and <|bos|> of the tokenizer.
  std::vector<int> stop_tokens = {};
  // Wishes GeneratedSample::log_probs.
  bool log_probs = false;
  // Wishes GeneratedSample::top, so many pairs for each token, and log_probs; at least 0.
  int top = 0;
  // Hears every token, each sample's in order, while the request runs, and may end its sample;
  // models that know their whole answer at once need not call it. Not the token that ends a sample.
  std::function<AfterToken(const NewToken&)> on_token = {};
};

enum class StopReason : std::uint8_t {
  kStopToken,  // the model ended it
  kMaxTokens,
  kContext,          // no position is left in the model's context
  kNotFiniteLogits,  // a logit is NaN or infinite: nothing can be chosen
  kCaller,           // on_token said so
};
// "stop_token", "max_tokens", "context", "not_finite", "caller"
std::string_view name(StopReason reason);

// New tokens only: neither the prompt nor the token that ended the sample.
struct GeneratedSample {
  std::vector<int> tokens;
  std::vector<std::uint8_t> mask;  // 1: the model chose it, 0: the tool's (forced)
  StopReason stop = StopReason::kMaxTokens;
  int stop_token = -1;  // the id that ended it, of kStopToken; -1: another reason, or not known
  // One for each token, where the request wishes it, else empty. 0 for a forced token and on a dry
  // device.
  std::vector<float> log_probs = {};
  // For each token the most likely ones of the tokenizer's ids in its place, descending, the lowest
  // id first among equal logits, where the request wishes it, else empty. Empty for a forced token
  // and on a dry device.
  std::vector<std::vector<TokenLogProb>> top = {};
};

struct GenerateResult {
  std::vector<GeneratedSample> samples;  // num_samples
};

}  // namespace nb
