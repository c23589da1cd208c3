// Any IncrementalModel as a LanguageModel: scores through a prefix tree, generates in batches. Bits
// of a score or a sample are a function of its own request; simulated time and memory do depend on
// the batches: they are the device's business, never a score's.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "model/decoder/incremental_model.hpp"
#include "model/engine/language_model.hpp"
#include "model/engine/tree_scorer.hpp"

namespace nb {

class IncrementalLanguageModel : public LanguageModel {
 public:
  // Both must outlive this. NB_CHECK: the tokenizer's ids fit the vocabulary and it has a <|bos|>.
  IncrementalLanguageModel(IncrementalModel& decoder, const Tokenizer& tokenizer,
                           const TreeBatching& batching = {});

  // On a dry device every log-probability is 0 and every argmax -1. Throws OutOfMemory.
  std::vector<ScoreResult> score(std::span<const ScoreRequest> requests) override;
  // On a dry device every token is 0.
  std::vector<GenerateResult> generate(std::span<const GenerateRequest> requests) override;
  const Tokenizer& tokenizer() const override { return tokenizer_; }
  std::int64_t context_length() const override { return decoder_.context_length(); }

  // Of the last score().
  const TreeStats& stats() const { return stats_; }

 private:
  IncrementalModel& decoder_;
  const Tokenizer& tokenizer_;
  TreeBatching batching_;
  TreeStats stats_;
};

}  // namespace nb
