// A scripted LanguageModel: every score and every generated text is a rule that a test can work out
// by hand. Counts its calls.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "model/engine/language_model.hpp"

namespace nb {

struct FakeScore {
  float log_prob = 0;
  int argmax = 0;
};

class FakeLanguageModel : public LanguageModel {
 public:
  // rule(before, token): the score of `token` after the tokens `before` (never empty).
  using Rule = std::function<FakeScore(std::span<const int> before, int token)>;

  // rule(request, sample): the new tokens. Cut at request.max_tokens; a shorter answer has ended
  // itself (StopReason::kStopToken); the mask is 1 everywhere. Log-probabilities are those of Rule,
  // the most likely token is always the one that is there.
  using GenerateRule = std::function<std::vector<int>(const GenerateRequest& request, int sample)>;

  // `tokenizer` must outlive the model. Without a generate rule, generate() fails as the base does.
  FakeLanguageModel(const Tokenizer& tokenizer, std::int64_t context_length, Rule rule,
                    GenerateRule generate_rule = {});

  std::vector<ScoreResult> score(std::span<const ScoreRequest> requests) override;
  std::vector<GenerateResult> generate(std::span<const GenerateRequest> requests) override;
  const Tokenizer& tokenizer() const override { return tokenizer_; }
  std::int64_t context_length() const override { return context_length_; }

  std::int64_t scored_requests() const { return scored_requests_; }
  std::int64_t scored_tokens() const { return scored_tokens_; }
  std::int64_t generated_samples() const { return generated_samples_; }

 private:
  void tell(const GenerateRequest& request, int number, GeneratedSample& sample) const;

  const Tokenizer& tokenizer_;
  std::int64_t context_length_;
  Rule rule_;
  GenerateRule generate_rule_;
  std::int64_t scored_requests_ = 0;
  std::int64_t scored_tokens_ = 0;
  std::int64_t generated_samples_ = 0;
};

}  // namespace nb
