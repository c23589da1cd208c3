// A decoder on an emulated device as a LanguageModel.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "model/decoder/incremental.hpp"
#include "model/engine/incremental_language_model.hpp"

namespace nb {

struct ScoreBatching {
  std::int64_t max_rows = 64;      // sequences in a forward pass
  std::int64_t max_tokens = 2048;  // rows of a forward pass; a longer sequence is cut to pieces
  // false: the plain way, to compare with. No cache and no sharing: requests sorted by length,
  // padded on the right with <|bos|>; a sequence longer than max_tokens goes alone. Same bits.
  bool share_prefixes = true;
};

class DecoderLanguageModel : public LanguageModel {
 public:
  // Both must outlive this. NB_CHECK as IncrementalLanguageModel.
  DecoderLanguageModel(Decoder& decoder, const Tokenizer& tokenizer,
                       const ScoreBatching& batching = {});

  std::vector<ScoreResult> score(std::span<const ScoreRequest> requests) override;
  std::vector<GenerateResult> generate(std::span<const GenerateRequest> requests) override {
    return model_.generate(requests);
  }
  const Tokenizer& tokenizer() const override { return model_.tokenizer(); }
  std::int64_t context_length() const override { return incremental_.context_length(); }
  IncrementalModel& incremental() { return incremental_; }

 private:
  std::vector<ScoreResult> score_padded(std::span<const ScoreRequest> requests);
  void score_batch(std::span<const ScoreRequest> requests, std::span<const std::size_t> batch,
                   std::span<ScoreResult> results);
  void take_top(std::span<const ScoreRequest> requests, std::span<const std::size_t> batch,
                std::span<const int> tokens, std::int64_t time, std::span<ScoreResult> results);

  Decoder& decoder_;
  ScoreBatching batching_;
  IncrementalDecoder incremental_;
  IncrementalLanguageModel model_;
};

// Of the plain way: indices of the requests that have something to score, cut into batches, longest
// first (so that the first batch shows whether memory suffices). Exposed for tests.
std::vector<std::vector<std::size_t>> batches_of(std::span<const ScoreRequest> requests,
                                                 const ScoreBatching& batching);

}  // namespace nb
