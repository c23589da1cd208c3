// A GPT on an emulated device as a LanguageModel. Requests are sorted by length, padded on the
// right with <|bos|> and run in batches; attention is causal and every kernel's order is fixed by
// its row, so a score has the same bits alone and in any batch. Simulated time and memory do depend
// on the batches: they are the device's business, never a score's.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "model/engine/language_model.hpp"

namespace nb {

class Gpt;

struct ScoreBatching {
  std::int64_t max_rows = 16;      // sequences in a batch
  std::int64_t max_tokens = 8192;  // rows × longest, unless one sequence alone is longer
};

class GptLanguageModel : public LanguageModel {
 public:
  // Both must outlive this. NB_CHECK: the tokenizer's ids fit the model's vocabulary and it has a
  // <|bos|>.
  GptLanguageModel(Gpt& gpt, const Tokenizer& tokenizer, const ScoreBatching& batching = {});

  // On a dry device every log-probability is 0 and every argmax -1. Throws OutOfMemory.
  std::vector<ScoreResult> score(std::span<const ScoreRequest> requests) override;
  const Tokenizer& tokenizer() const override { return tokenizer_; }
  // Positions of the rotary tables: nanochat runs prompts past its training length
  // (nanochat.md §6.6).
  std::int64_t context_length() const override;

 private:
  void score_batch(std::span<const ScoreRequest> requests, std::span<const std::size_t> batch,
                   std::span<ScoreResult> results);

  Gpt& gpt_;
  const Tokenizer& tokenizer_;
  ScoreBatching batching_;
};

// Indices of the requests that have something to score, cut into batches, longest first (so that
// the first batch shows whether memory suffices). Exposed for tests.
std::vector<std::vector<std::size_t>> batches_of(std::span<const ScoreRequest> requests,
                                                 const ScoreBatching& batching);

}  // namespace nb
