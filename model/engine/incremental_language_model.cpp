#include "model/engine/incremental_language_model.hpp"

#include "harness/base/check.hpp"
#include "model/engine/generator.hpp"
#include "model/tokenizer/tokenizer.hpp"

namespace nb {

IncrementalLanguageModel::IncrementalLanguageModel(IncrementalModel& decoder,
                                                   const Tokenizer& tokenizer,
                                                   const TreeBatching& batching)
    : decoder_(decoder), tokenizer_(tokenizer), batching_(batching) {
  NB_CHECK(tokenizer.vocab_size() <= decoder.vocab_size(),
           "[language_model] tokenizer has {} ids, the model {}", tokenizer.vocab_size(),
           decoder.vocab_size());
  NB_CHECK(tokenizer.bos() >= 0, "[language_model] tokenizer without <|bos|>");
}

std::vector<ScoreResult> IncrementalLanguageModel::score(std::span<const ScoreRequest> requests) {
  const UseScope scope(decoder_.device(), Use::kScore);
  std::vector<ScoreResult> results;
  for (const ScoreRequest& request : requests) {
    check_request(request, context_length());
    results.push_back(unscored(request));
  }
  stats_ = score_tree(decoder_, make_prefix_tree(requests), batching_, results);
  return results;
}

std::vector<GenerateResult> IncrementalLanguageModel::generate(
    std::span<const GenerateRequest> requests) {
  const UseScope scope(decoder_.device(), Use::kGenerate);
  return nb::generate(decoder_, tokenizer_, requests,
                      {.max_samples = batching_.max_chunks, .max_tokens = batching_.max_tokens});
}

}  // namespace nb
