#include "evals/core/grade.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "evals/base/choice.hpp"
#include "harness/base/check.hpp"
#include "model/tokenizer/utf8.hpp"

namespace nb {
namespace {

constexpr std::size_t kShownCharacters = 40;

std::string shown(const Tokenizer& tokenizer, std::span<const int> tokens) {
  const std::string text = tokenizer.decode(tokens);
  return text.substr(0, utf8_prefix_bytes(text, kShownCharacters));
}

std::span<const int> scored_tokens(const ScoreRequest& request) {
  return std::span<const int>(request.tokens).subspan(request.start, request.end - request.start);
}

std::string gold_text(const CoreItem& item, CoreTaskType type,
                      std::span<const ScoreRequest> requests, const Tokenizer& tokenizer) {
  return type == CoreTaskType::kLanguageModelling
             ? shown(tokenizer, scored_tokens(requests.front()))
             : std::to_string(item.gold);
}

// nullptr: every choice has tokens.
const char* no_tokens_reason(std::span<const ScoreResult> scores, std::size_t gold) {
  std::vector<bool> is_empty;
  for (const ScoreResult& score : scores) is_empty.push_back(score.log_probs.empty());
  if (std::find(is_empty.begin(), is_empty.end(), true) == is_empty.end()) return nullptr;
  const std::optional<bool> decided = decided_by_rule(is_empty, gold);
  return !decided ? kNoTokens : *decided ? kAlwaysRight : kAlwaysWrong;
}

}  // namespace

ItemRecord grade(const CoreItem& item, CoreTaskType type, std::span<const ScoreRequest> requests,
                 std::span<const ScoreResult> scores, const Tokenizer& tokenizer,
                 ScorerFault fault) {
  NB_CHECK(!requests.empty() && requests.size() == scores.size(), "[grade] {} requests, {} scores",
           requests.size(), scores.size());
  ItemRecord record;
  record.id = item.id;
  record.gold = gold_text(item, type, requests, tokenizer);
  if (!are_finite(scores)) {
    record.reason = kNotFinite;
    return record;
  }
  std::vector<float> means;
  for (const ScoreResult& score : scores) means.push_back(mean_log_prob(score.log_probs));
  if (type == CoreTaskType::kLanguageModelling) {
    const std::span<const int> wanted = scored_tokens(requests.front());
    const std::vector<int>& got = scores.front().argmax;
    const bool matches = std::equal(wanted.begin(), wanted.end(), got.begin(), got.end());
    record.ok = matches && fault != ScorerFault::kSecondBest;
    record.prediction = shown(tokenizer, got);
  } else {
    const std::size_t choice = chosen(means, fault);
    record.ok = choice == static_cast<std::size_t>(item.gold);
    record.prediction = std::to_string(choice);
  }
  if (const char* reason = no_tokens_reason(scores, static_cast<std::size_t>(item.gold)))
    record.reason = reason;
  else if (!scores.front().is_ranking)
    record.log_probs = std::move(means);
  return record;
}

}  // namespace nb
