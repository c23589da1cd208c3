#include "model/engine/sampler.hpp"

#include <algorithm>
#include <functional>
#include <vector>

#include "harness/base/check.hpp"
#include "model/kernels/reduce.hpp"
#include "model/kernels/vector_math.hpp"

namespace nb {
namespace {

// Ids of the k largest, ascending.
std::vector<int> largest_ids(std::span<const float> logits, std::size_t k) {
  std::vector<float> values;
  values.reserve(logits.size());
  for (const float z : logits) {
    if (z == z) values.push_back(z);
  }
  if (values.empty()) return {0};
  k = std::min(k, values.size());
  const auto kth = values.begin() + static_cast<std::ptrdiff_t>(k) - 1;
  std::nth_element(values.begin(), kth, values.end(), std::greater<>());
  const float threshold = *kth;
  const auto above = static_cast<std::size_t>(
      std::ranges::count_if(logits, [&](float z) { return z > threshold; }));
  std::size_t equals_left = k - above;
  std::vector<int> ids;
  ids.reserve(k);
  for (std::size_t i = 0; i < logits.size(); ++i) {
    const bool is_tie = logits[i] == threshold && equals_left > 0;
    if (is_tie) --equals_left;
    if (is_tie || logits[i] > threshold) ids.push_back(static_cast<int>(i));
  }
  return ids;
}

// First index whose running sum exceeds u × the sum; NaN counts as 0.
std::size_t draw(std::span<const float> weights, double u) {
  const auto weight = [&](std::size_t i) {
    return weights[i] == weights[i] ? static_cast<double>(weights[i]) : 0.0;
  };
  double sum = 0;
  for (std::size_t i = 0; i < weights.size(); ++i) sum += weight(i);
  const double bound = u * sum;
  double running = 0;
  std::size_t last = 0;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    if (weight(i) == 0) continue;
    running += weight(i);
    last = i;
    if (running > bound) return i;
  }
  return last;  // u × sum rounded up to the sum
}

}  // namespace

int first_largest(std::span<const float> logits) {
  return static_cast<int>(kernels::first_largest(logits));
}

int sample_token(std::span<const float> logits, const SamplingRule& rule, double u) {
  NB_CHECK(!logits.empty() && rule.temperature >= 0 && (!rule.top_k || *rule.top_k >= 1),
           "[sample] {} logits, temperature {}, top_k {}", logits.size(), rule.temperature,
           rule.top_k.value_or(0));
  if (rule.temperature == 0) return first_largest(logits);
  const auto max = logits[static_cast<std::size_t>(first_largest(logits))];
  const auto temperature = static_cast<float>(rule.temperature);
  std::vector<int> ids;  // empty: all
  if (rule.top_k && static_cast<std::size_t>(*rule.top_k) < logits.size()) {
    ids = largest_ids(logits, static_cast<std::size_t>(*rule.top_k));
  }
  std::vector<float> weights(ids.empty() ? logits.size() : ids.size());
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const float below = logits[ids.empty() ? i : static_cast<std::size_t>(ids[i])] - max;
    weights[i] = below == 0 ? 0.0F : below / temperature;  // 0 / 0 where the temperature underflows
  }
  kernels::exp(weights, weights);
  const std::size_t chosen = draw(weights, u);
  return ids.empty() ? static_cast<int>(chosen) : ids[chosen];
}

SampleRandom::SampleRandom(std::uint64_t seed, int sample)
    : rng_(seed, "generate", static_cast<std::uint64_t>(sample)) {}

double SampleRandom::uniform(std::int64_t token) const {
  return rng_.uniform(static_cast<std::uint64_t>(token));
}

}  // namespace nb
