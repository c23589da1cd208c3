#include "model/engine/fake_language_model.hpp"

#include <utility>

#include "harness/base/check.hpp"

namespace nb {

FakeLanguageModel::FakeLanguageModel(const Tokenizer& tokenizer, std::int64_t context_length,
                                     Rule rule)
    : tokenizer_(tokenizer), context_length_(context_length), rule_(std::move(rule)) {}

std::vector<ScoreResult> FakeLanguageModel::score(std::span<const ScoreRequest> requests) {
  std::vector<ScoreResult> results;
  results.reserve(requests.size());
  for (const ScoreRequest& request : requests) {
    check_request(request, context_length_);
    ScoreResult& result = results.emplace_back();
    const std::span<const int> tokens = request.tokens;
    for (std::size_t i = request.start; i < request.end; ++i) {
      const FakeScore score = rule_(tokens.first(i), tokens[i]);
      result.log_probs.push_back(score.log_prob);
      result.argmax.push_back(score.argmax);
    }
    ++scored_requests_;
    scored_tokens_ += static_cast<std::int64_t>(request.end - request.start);
  }
  return results;
}

}  // namespace nb
