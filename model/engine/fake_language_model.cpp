#include "model/engine/fake_language_model.hpp"

#include <utility>

#include "harness/base/check.hpp"

namespace nb {

FakeLanguageModel::FakeLanguageModel(const Tokenizer& tokenizer, std::int64_t context_length,
                                     Rule rule, GenerateRule generate_rule)
    : tokenizer_(tokenizer),
      context_length_(context_length),
      rule_(std::move(rule)),
      generate_rule_(std::move(generate_rule)) {}

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
      if (request.top > 0) result.top.push_back({{tokens[i], score.log_prob}});
    }
    ++scored_requests_;
    scored_tokens_ += static_cast<std::int64_t>(request.end - request.start);
  }
  return results;
}

void FakeLanguageModel::tell(const GenerateRequest& request, int number,
                             GeneratedSample& sample) const {
  std::vector<int> before = request.prompt;
  for (std::size_t i = 0; i < sample.tokens.size(); ++i) {
    NewToken heard{number, sample.tokens[i]};
    if (request.log_probs || request.top > 0) {
      heard.log_prob = rule_ ? rule_(before, heard.token).log_prob : 0;
      sample.log_probs.push_back(heard.log_prob);
    }
    if (request.top > 0)
      heard.top = sample.top.emplace_back(1, TokenLogProb{heard.token, heard.log_prob});
    before.push_back(heard.token);
    if (!request.on_token || request.on_token(heard) == AfterToken::kContinue) continue;
    sample.tokens.resize(i + 1);
    sample.stop = StopReason::kCaller;
  }
}

std::vector<GenerateResult> FakeLanguageModel::generate(std::span<const GenerateRequest> requests) {
  if (!generate_rule_) return LanguageModel::generate(requests);
  std::vector<GenerateResult> results;
  for (const GenerateRequest& request : requests) {
    check_request(request, context_length_);
    GenerateResult& result = results.emplace_back();
    const auto limit = static_cast<std::size_t>(request.max_tokens);
    for (int s = 0; s < request.num_samples; ++s) {
      GeneratedSample& sample = result.samples.emplace_back();
      sample.tokens = generate_rule_(request, s);
      sample.stop = sample.tokens.size() < limit ? StopReason::kStopToken : StopReason::kMaxTokens;
      if (sample.tokens.size() > limit) sample.tokens.resize(limit);
      tell(request, s, sample);
      sample.mask.assign(sample.tokens.size(), 1);
      ++generated_samples_;
    }
  }
  return results;
}

}  // namespace nb
