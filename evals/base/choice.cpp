#include "evals/base/choice.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "harness/base/check.hpp"

namespace nb {

bool are_finite(std::span<const ScoreResult> scores) {
  return std::ranges::all_of(scores, [](const ScoreResult& score) {
    return std::ranges::all_of(score.log_probs, [](float value) { return std::isfinite(value); });
  });
}

float mean_log_prob(std::span<const float> log_probs) {
  if (log_probs.empty()) return std::numeric_limits<float>::quiet_NaN();
  double sum = 0;
  for (const float value : log_probs) sum += static_cast<double>(value);
  return static_cast<float>(sum / static_cast<double>(log_probs.size()));
}

std::size_t best_choice(std::span<const float> means) {
  NB_CHECK(!means.empty(), "[best_choice] no choices");
  std::size_t best = 0;
  for (std::size_t i = 1; i < means.size(); ++i)
    if (means[i] > means[best]) best = i;  // false when either is NaN
  return best;
}

std::optional<bool> decided_by_rule(const std::vector<bool>& is_empty, std::size_t gold) {
  NB_CHECK(gold < is_empty.size(), "[decided_by_rule] gold {} of {}", gold, is_empty.size());
  if (is_empty[0]) return gold == 0;  // NaN in front wins
  if (is_empty[gold]) return false;   // NaN elsewhere is never chosen
  const auto left = std::count(is_empty.begin(), is_empty.end(), false);
  if (left == 1) return true;  // the first choice, and gold: nothing else can be chosen
  return std::nullopt;
}

std::size_t second_best_choice(std::span<const float> means) {
  const std::size_t best = best_choice(means);
  std::vector<float> others;
  for (std::size_t i = 0; i < means.size(); ++i)
    if (i != best) others.push_back(means[i]);
  if (others.empty()) return best;
  const std::size_t second = best_choice(others);
  return second < best ? second : second + 1;
}

std::size_t torch_argmax(std::span<const float> values) {
  NB_CHECK(!values.empty(), "[torch_argmax] no values");
  std::size_t best = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (std::isnan(values[i])) return i;
    if (values[i] > values[best]) best = i;
  }
  return best;
}

std::size_t chosen(std::span<const float> means, ScorerFault fault) {
  return fault == ScorerFault::kSecondBest ? second_best_choice(means) : best_choice(means);
}

}  // namespace nb
