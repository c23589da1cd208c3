// What to generate, and what came of it. Plain values. nanochat's engine.py (sampling and the rules
// of a row).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/engine/calculator.hpp"

namespace nb {

// Text between <|python_start|> and <|python_end|> → text put between <|output_start|> and
// <|output_end|>; nothing: nothing is put there.
using ToolFunction = std::function<std::optional<std::string>(std::string_view expression)>;

// A new token, told as soon as it is known.
struct NewToken {
  int sample = 0;
  int token = 0;
  bool chosen = true;  // by the model; false: forced by the tool
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
  std::uint64_t seed = 42;        // sample s at step t draws from (seed, s, t)
  bool tools = true;              // the calculator answers
  CalculatorRules calculator = CalculatorRules::kNew;
  ToolFunction tool = {};  // in place of the calculator
  // nanochat until 2025-12-28: the first token is drawn once and shared by all samples.
  bool shares_first_token = false;
  // Ids that end a sample; empty: <|assistant_end|> and <|bos|> of the tokenizer.
  std::vector<int> stop_tokens = {};
  // Hears every token, each sample's in order, while the request runs; models that know their whole
  // answer at once need not call it.
  std::function<void(const NewToken&)> on_token = {};
};

enum class StopReason : std::uint8_t {
  kStopToken,  // the model ended it
  kMaxTokens,
  kContext,          // no position is left in the model's context
  kNotFiniteLogits,  // a logit is NaN or infinite: nothing can be chosen
};
// "stop_token", "max_tokens", "context", "not_finite"
std::string_view name(StopReason reason);

// New tokens only: neither the prompt nor the token that ended the sample.
struct GeneratedSample {
  std::vector<int> tokens;
  std::vector<std::uint8_t> mask;  // 1: the model chose it, 0: the tool's (forced)
  StopReason stop = StopReason::kMaxTokens;
};

struct GenerateResult {
  std::vector<GeneratedSample> samples;  // num_samples
};

}  // namespace nb
