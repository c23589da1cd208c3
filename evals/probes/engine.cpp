// Probes of the engine, on a decoder of the device: its caches and its choice among equal logits.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "evals/probes/items.hpp"
#include "harness/base/check.hpp"
#include "harness/base/rng.hpp"

namespace nb {
namespace {

// Log-probabilities of the two ways have the same bits. A change of rounding in one of them moves
// them by a few units of bf16's 2^-8 of a logit, well below this; a key that is missing or stands
// at another place moves them by tenths of a nat.
constexpr float kSame = .05F;

std::vector<int> random_tokens(std::uint64_t seed, std::size_t count) {
  const Rng rng(seed, "probe/tokens");
  std::vector<int> tokens(count);
  for (std::size_t i = 0; i < count; ++i) tokens[i] = static_cast<int>(rng.below(i, 256));
  return tokens;
}

// "same", or the first place where one of both is another.
std::string compared(const ScoreResult& a, const ScoreResult& b, std::size_t start) {
  for (std::size_t i = 0; i < a.log_probs.size(); ++i)
    if (!(std::abs(a.log_probs[i] - b.log_probs[i]) <= kSame))
      return fmt::format("differs from position {} on", start + i);
  return "same";
}

// Two requests that share a beginning beyond 128 tokens: what follows is scored from its cache.
ItemRecord shared_prefix(const ProbedModels& models, std::size_t shared, std::size_t own) {
  std::vector<ScoreRequest> requests;
  for (const std::uint64_t seed : {1U, 2U}) {
    ScoreRequest request;
    request.tokens = random_tokens(0, shared);
    const std::vector<int> rest = random_tokens(seed, own);
    request.tokens.insert(request.tokens.end(), rest.begin(), rest.end());
    request.start = shared;
    request.end = request.tokens.size();
    requests.push_back(std::move(request));
  }
  const auto cached = models.cached.score(requests), plain = models.plain.score(requests);
  std::string got = compared(cached[0], plain[0], shared);
  if (got == "same") got = compared(cached[1], plain[1], shared);
  return probe_item("long_cache", fmt::format("shared {} own {}", shared, own), "same",
                    std::move(got));
}

// Tokens generated one by one beside the same tokens scored in one pass: the model chose each of
// them because none is more likely.
ItemRecord generated(const ProbedModels& models, std::size_t prompt, std::int64_t more) {
  GenerateRequest request;
  request.prompt = random_tokens(prompt, prompt);
  request.max_tokens = more;
  request.temperature = 0;
  request.tools = false;
  request.stop_tokens = {static_cast<int>(kProbeVocab) - 1};
  const GenerateResult result = models.cached.generate(std::span(&request, 1)).front();
  const std::vector<int>& tokens = result.samples.front().tokens;
  ScoreRequest whole;
  whole.tokens = request.prompt;
  whole.tokens.insert(whole.tokens.end(), tokens.begin(), tokens.end());
  whole.start = prompt;
  whole.end = whole.tokens.size();
  const ScoreResult score = models.plain.score(std::span(&whole, 1)).front();
  std::string got = "same";
  for (std::size_t i = 0; i < tokens.size() && got == "same"; ++i) {
    if (score.argmax[i] == tokens[i]) continue;
    ScoreRequest best = whole;
    best.tokens.resize(prompt + i + 1);
    best.tokens.back() = score.argmax[i];
    best.start = prompt + i;
    best.end = best.tokens.size();
    const ScoreResult of_best = models.plain.score(std::span(&best, 1)).front();
    if (of_best.log_probs.front() - score.log_probs[i] > kSame)
      got = fmt::format("differs from position {} on", prompt + i);
  }
  return probe_item("long_cache", fmt::format("generated {} after {}", more, prompt), "same",
                    std::move(got));
}

// The last token still sees the first one, through the cache.
ItemRecord reach(const ProbedModels& models, std::size_t shared) {
  std::vector<float> last;
  for (const int first : {'a', 'z'}) {
    std::vector<ScoreRequest> requests;
    for (const int end : {'p', 'q'}) {
      ScoreRequest request;
      request.tokens = random_tokens(3, shared);
      for (std::size_t i = 0; i < 8; ++i) request.tokens[i] = first;
      request.tokens.push_back(end);
      request.start = shared;
      request.end = shared + 1;
      requests.push_back(std::move(request));
    }
    last.push_back(models.cached.score(requests)[0].log_probs[0]);
  }
  return probe_item("long_cache", fmt::format("reach over {}", shared), "seen",
                    last[0] == last[1] ? "not seen" : "seen");
}

}  // namespace

Result<EvalResult> probe_long_cache(const ProbedModels& models) {
  NB_CHECK(models.cached.context_length() >= kProbeContext, "[probes] a context of {}",
           models.cached.context_length());
  std::vector<ItemRecord> items;
  for (const std::size_t shared : {127U, 128U, 129U, 160U, 255U, 257U})
    items.push_back(shared_prefix(models, shared, 24));
  for (const std::size_t prompt : {100U, 126U, 128U, 200U})
    items.push_back(generated(models, prompt, 64));
  for (const std::size_t shared : {120U, 160U, 300U}) items.push_back(reach(models, shared));
  return probe_result("long_cache", std::move(items));
}

Result<EvalResult> probe_logit_tie(const ProbedModels& models) {
  std::vector<ItemRecord> items;
  for (const std::size_t length : {2U, 17U, 64U}) {
    ScoreRequest request;
    request.tokens = random_tokens(length, length);
    request.start = 1;
    request.end = length;
    const ScoreResult score = models.flat.score(std::span(&request, 1)).front();
    const bool is_lowest = std::ranges::all_of(score.argmax, [](int id) { return id == 0; });
    items.push_back(probe_item("logit_tie", fmt::format("scored {}", length), "lowest id",
                               is_lowest ? "lowest id" : "another"));
    GenerateRequest generate;
    generate.prompt = request.tokens;
    generate.max_tokens = 4;
    generate.temperature = 0;
    generate.tools = false;
    const auto samples = models.flat.generate(std::span(&generate, 1)).front().samples;
    const std::vector<int>& tokens = samples.front().tokens;
    const bool generates_lowest =
        !tokens.empty() && std::ranges::all_of(tokens, [](int id) { return id == 0; });
    items.push_back(probe_item("logit_tie", fmt::format("generated after {}", length), "lowest id",
                               generates_lowest ? "lowest id" : "another"));
  }
  return probe_result("logit_tie", std::move(items));
}

}  // namespace nb
