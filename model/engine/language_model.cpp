#include "model/engine/language_model.hpp"

#include <limits>
#include <utility>

#include "harness/base/check.hpp"

namespace nb {

void check_request(const ScoreRequest& request, std::int64_t context_length) {
  const std::size_t size = request.tokens.size();
  NB_CHECK(request.start >= 1 && request.start <= request.end && request.end <= size,
           "[score] span [{}, {}) of {} tokens", request.start, request.end, size);
  NB_CHECK(std::cmp_less_equal(size, context_length), "[score] {} tokens, the context holds {}",
           size, context_length);
  NB_CHECK(request.top >= 0, "[score] the {} most likely tokens", request.top);
}

void check_request(const GenerateRequest& request, std::int64_t context_length) {
  NB_CHECK(!request.prompt.empty(), "[generate] empty prompt");
  NB_CHECK(std::cmp_less_equal(request.prompt.size(), context_length),
           "[generate] prompt of {} tokens, the context holds {}", request.prompt.size(),
           context_length);
  NB_CHECK(request.num_samples >= 1 && request.max_tokens >= 0,
           "[generate] {} samples of at most {} tokens", request.num_samples, request.max_tokens);
  const auto& each = request.sample_tokens;
  NB_CHECK(each.empty() || std::cmp_equal(each.size(), request.num_samples),
           "[generate] {} samples and the lengths of {}", request.num_samples, each.size());
  for (const std::int64_t tokens : each)
    NB_CHECK(tokens >= 1 && tokens <= request.max_tokens, "[generate] a sample of {} of {} tokens",
             tokens, request.max_tokens);
  NB_CHECK(request.temperature >= 0, "[generate] temperature {}", request.temperature);
  NB_CHECK(!request.top_k || *request.top_k >= 1, "[generate] top_k {}", *request.top_k);
  NB_CHECK(request.top >= 0, "[generate] the {} most likely tokens", request.top);
  // Which ids there are is the model's to know.
  const auto trouble = trouble_with(request.sampling, std::numeric_limits<int>::max());
  NB_CHECK(!trouble, "[generate] {}", *trouble);
}

ScoreResult unscored(const ScoreRequest& request) {
  const std::size_t count = request.end - request.start;
  ScoreResult result;
  result.log_probs.assign(count, 0.0F);
  result.argmax.assign(count, -1);
  if (request.top > 0) result.top.resize(count);
  return result;
}

std::string_view name(StopReason reason) {
  switch (reason) {
    case StopReason::kStopToken:
      return "stop_token";
    case StopReason::kMaxTokens:
      return "max_tokens";
    case StopReason::kContext:
      return "context";
    case StopReason::kNotFiniteLogits:
      return "not_finite";
    case StopReason::kCaller:
      return "caller";
  }
  NB_CHECK(false, "[generate] no such reason {}", static_cast<int>(reason));
}

std::vector<GenerateResult> LanguageModel::generate(std::span<const GenerateRequest> requests) {
  NB_CHECK(requests.empty(), "[generate] this model cannot generate");
  return {};
}

}  // namespace nb
