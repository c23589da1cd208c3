#include "evals/models/built_in_models.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "harness/base/check.hpp"
#include "harness/base/rng.hpp"

namespace nb {
namespace {

constexpr auto kModels = std::to_array<BuiltInModelInfo>({
    {BuiltInKind::kOracle, "oracle", "always right"},
    {BuiltInKind::kChance, "chance", "one of the choices at random; generated texts are nonsense"},
    {BuiltInKind::kCorrupted, "corrupted", "always wrong"},
});

// Far above any prompt.
constexpr std::int64_t kContextLength = std::int64_t{1} << 40;

}  // namespace

std::span<const BuiltInModelInfo> built_in_models() { return kModels; }

const BuiltInModelInfo* find_built_in_model(std::string_view name) {
  const auto* found = std::find_if(kModels.begin(), kModels.end(),
                                   [&](const BuiltInModelInfo& info) { return info.name == name; });
  return found == kModels.end() ? nullptr : found;
}

BuiltInModel::BuiltInModel(BuiltInKind kind, const Tokenizer& tokenizer, std::uint64_t seed)
    : kind_(kind), tokenizer_(tokenizer), seed_(seed) {}

std::int64_t BuiltInModel::context_length() const { return kContextLength; }

std::size_t BuiltInModel::picked(const Item& item) const {
  switch (kind_) {
    case BuiltInKind::kOracle:
      return item.gold.request;
    case BuiltInKind::kChance:
      // With one request there is nothing to choose: an exact match, missed.
      return item.requests == 1 ? 1 : Rng(seed_, "chance/" + item.id).below(0, item.requests);
    case BuiltInKind::kCorrupted:
      return item.requests == 1 ? 1 : (item.gold.request + 1) % item.requests;
  }
  return 0;
}

std::string BuiltInModel::text_for(const Item& item) const {
  switch (kind_) {
    case BuiltInKind::kOracle:
      return item.gold.text;
    case BuiltInKind::kChance:
      return fmt::format("{:016x}", Rng(seed_, "chance/" + item.id).bits(0));
    case BuiltInKind::kCorrupted:
      return item.gold.wrong_text;
  }
  return "";
}

std::vector<GenerateResult> BuiltInModel::generate(std::span<const GenerateRequest> requests) {
  NB_CHECK(requests.size() == items_.size(), "[generate] {} requests, {} announced",
           requests.size(), items_.size());
  std::vector<GenerateResult> results;
  for (std::size_t k = 0; k < requests.size(); ++k) {
    GeneratedSample sample;
    sample.tokens = tokenizer_.encode(text_for(items_[k]));
    sample.mask.assign(sample.tokens.size(), 1);
    sample.stop = StopReason::kStopToken;
    GenerateResult result;
    result.samples.assign(static_cast<std::size_t>(requests[k].num_samples), sample);
    results.push_back(std::move(result));
  }
  items_.clear();
  return results;
}

std::vector<ScoreResult> BuiltInModel::score(std::span<const ScoreRequest> requests) {
  std::vector<ScoreResult> results;
  for (const Item& item : items_) {
    const std::size_t right = picked(item);
    for (std::size_t k = 0; k < item.requests; ++k) {
      NB_CHECK(results.size() < requests.size(), "[score] more requests announced than there are");
      const ScoreRequest& request = requests[results.size()];
      ScoreResult result;
      for (std::size_t at = request.start; at < request.end; ++at) {
        const int token = request.tokens[at];
        result.log_probs.push_back(k == right ? -0.125F : -8.0F);
        result.argmax.push_back(k == right ? token : (token + 1) % tokenizer_.vocab_size());
      }
      results.push_back(std::move(result));
    }
  }
  NB_CHECK(results.size() == requests.size(), "[score] {} requests, {} announced", requests.size(),
           results.size());
  items_.clear();
  return results;
}

}  // namespace nb
