// All that an evaluator may know of a model: it scores given tokens and generates new ones. What
// they come from (a decoder on an emulated device, a script in a test) stays behind this seam. Not
// here: prompts, answers. Thread-compatible: one caller at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <stdexcept>
#include <vector>

#include "model/engine/generate_request.hpp"

namespace nb {

class Tokenizer;

// Score tokens[start, end), each from the tokens before it. 1 <= start <= end <= tokens.size(); an
// empty span is allowed and gives an empty result.
struct ScoreRequest {
  std::vector<int> tokens;
  std::size_t start = 1;
  std::size_t end = 1;
  int top = 0;  // wishes ScoreResult::top, so many pairs for each token; at least 0
};

// Both have end - start entries. log_probs: natural logarithm, fp32, of the token that is there.
// argmax: the most likely token there; among equal logits the lowest id (nanochat's base_eval.py:
// bf16 logits do tie).
struct ScoreResult {
  std::vector<float> log_probs;
  std::vector<int> argmax;
  // true: log_probs only order the requests of one item, and argmax is right up to the first token
  // that it misses: a model that tells no more. No record keeps such numbers.
  bool is_ranking = false;
  // Where the request wishes it end - start entries, else none: the most likely tokens there,
  // descending, the lowest id first among equal logits. As argmax of all ids of the model, those
  // that the tokenizer lacks included. Empty entries on a dry device.
  std::vector<std::vector<TokenLogProb>> top = {};
};

// Sized for the request and filled with what a dry device leaves there: log_probs 0, argmax -1.
ScoreResult unscored(const ScoreRequest& request);

// NB_CHECK of the rules above, for implementations.
void check_request(const ScoreRequest& request, std::int64_t context_length);
// NB_CHECK: a prompt that the context holds, at least one sample, max_tokens and temperature
// not negative, top_k at least 1, options in their ranges.
void check_request(const GenerateRequest& request, std::int64_t context_length);

// Thrown by score() and generate() of a model that can fail on the way: one that is asked over a
// network. What was answered before stands where its requests stood.
struct ModelFailure : std::runtime_error {
  using std::runtime_error::runtime_error;
  std::vector<std::optional<ScoreResult>> scores;
  std::vector<std::optional<GenerateResult>> generated;
};

class LanguageModel {
 public:
  virtual ~LanguageModel() = default;
  // One result a request, in order. A result depends on its own request only: neither on the others
  // nor on how the model batches them.
  virtual std::vector<ScoreResult> score(std::span<const ScoreRequest> requests) = 0;
  // One result a request, in order; a sample depends on its own request and number only. Default:
  // NB_CHECK fails, this model cannot generate.
  virtual std::vector<GenerateResult> generate(std::span<const GenerateRequest> requests);
  virtual const Tokenizer& tokenizer() const = 0;
  // Longest sequence that score() accepts, in tokens.
  virtual std::int64_t context_length() const = 0;
};

}  // namespace nb
