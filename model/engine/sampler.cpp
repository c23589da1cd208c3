#include "model/engine/sampler.hpp"

#include <algorithm>
#include <functional>
#include <numeric>
#include <utility>
#include <vector>

#include "harness/base/check.hpp"
#include "model/kernels/reduce.hpp"
#include "model/kernels/vector_math.hpp"

namespace nb {
namespace {

// vLLM V1's v1/sample/sampler.py: _SAMPLING_EPS, and sampling_params.py: _MAX_TEMP.
constexpr double kGreedyBelow = 1e-5;
constexpr double kLeastTemperature = 0.01;

// What is drawn from. ids ascending; empty: all.
struct Candidates {
  std::vector<int> ids;
  std::vector<float> weights;
};

// Those of the ids whose logits are the k largest, ascending. 1 <= k < from.size(), no NaN.
std::vector<int> largest_ids(std::span<const float> logits, std::span<const int> from,
                             std::size_t k, TopKTies ties) {
  const auto logit = [&](int id) { return logits[static_cast<std::size_t>(id)]; };
  std::vector<float> values;
  values.reserve(from.size());
  for (const int id : from) values.push_back(logit(id));
  const auto kth = values.begin() + static_cast<std::ptrdiff_t>(k) - 1;
  std::nth_element(values.begin(), kth, values.end(), std::greater<>());
  const float threshold = *kth;
  const auto above = static_cast<std::size_t>(
      std::ranges::count_if(from, [&](int id) { return logit(id) > threshold; }));
  std::size_t equals_left = ties == TopKTies::kAll ? from.size() : k - above;
  std::vector<int> ids;
  ids.reserve(k);
  for (const int id : from) {
    const bool is_tie = logit(id) == threshold && equals_left > 0;
    if (is_tie) --equals_left;
    if (is_tie || logit(id) > threshold) ids.push_back(id);
  }
  return ids;
}

// Positions of the weights that top_p leaves, the heaviest first, of equal ones the lowest. A
// weight goes when it and all behind it are at most 1 - top_p of the sum, so when those before it
// are at least top_p of it.
std::vector<std::size_t> heaviest(std::span<const float> weights, double top_p) {
  std::vector<std::size_t> heap(weights.size());
  std::iota(heap.begin(), heap.end(), std::size_t{0});
  const auto is_lighter = [&](std::size_t a, std::size_t b) {
    return weights[a] != weights[b] ? weights[a] < weights[b] : a > b;
  };
  std::ranges::make_heap(heap, is_lighter);
  const double bound = top_p * std::accumulate(weights.begin(), weights.end(), 0.0);
  std::vector<std::size_t> kept;
  double before = 0;
  while (!heap.empty() && (kept.empty() || before < bound)) {
    std::ranges::pop_heap(heap, is_lighter);
    kept.push_back(heap.back());
    before += weights[heap.back()];
    heap.pop_back();
  }
  return kept;
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

class Weighing {
 public:
  Weighing(std::span<const float> logits, const SamplingRule& rule)
      : logits_(logits),
        rule_(rule),
        max_(logits[static_cast<std::size_t>(first_largest(logits))]),
        temperature_(static_cast<float>(rule.options.is_off()
                                            ? rule.temperature
                                            : std::max(rule.temperature, kLeastTemperature))) {}

  Candidates candidates() const {
    const SamplingOptions& options = rule_.options;
    const auto k = static_cast<std::size_t>(rule_.top_k.value_or(0));
    const bool has_k = k > 0 && k < logits_.size();
    const bool has_p = options.top_p < 1;
    if (!has_k && !has_p && options.min_p == 0) return {{}, weights({})};
    std::vector<int> ids;
    for (std::size_t i = 0; i < logits_.size(); ++i)
      if (logits_[i] == logits_[i]) ids.push_back(static_cast<int>(i));
    if (ids.empty()) return {{}, weights({})};
    if (options.min_p > 0) keep_from(ids, weights(ids), options.min_p);
    const bool is_full = options.sampler == SamplerKind::kFullSoftmaxTopP;
    const float cutoff = is_full && has_p ? lightest_kept(weights(ids)) : 0;
    if (has_k && k < ids.size())
      ids = largest_ids(logits_, ids, k, is_full ? TopKTies::kAll : options.ties);
    if (is_full) {
      keep_from(ids, weights(ids), cutoff);
    } else if (has_p) {
      std::vector<int> kept;
      for (const std::size_t place : heaviest(weights(ids), options.top_p))
        kept.push_back(ids[place]);
      std::ranges::sort(kept);
      ids = std::move(kept);
    }
    std::vector<float> its_weights = weights(ids);
    return {std::move(ids), std::move(its_weights)};
  }

 private:
  std::vector<float> weights(std::span<const int> ids) const {
    std::vector<float> weights(ids.empty() ? logits_.size() : ids.size());
    for (std::size_t i = 0; i < weights.size(); ++i) {
      const float below = logits_[ids.empty() ? i : static_cast<std::size_t>(ids[i])] - max_;
      // 0 / 0 where the temperature underflows
      weights[i] = below == 0 ? 0.0F : below / temperature_;
    }
    kernels::exp(weights, weights);
    return weights;
  }

  float lightest_kept(std::span<const float> weights) const {
    return weights[heaviest(weights, rule_.options.top_p).back()];
  }

  static void keep_from(std::vector<int>& ids, std::span<const float> weights, double least) {
    std::size_t kept = 0;
    for (std::size_t i = 0; i < weights.size(); ++i)
      if (weights[i] >= least) ids[kept++] = ids[i];
    ids.resize(kept);
  }

  std::span<const float> logits_;
  const SamplingRule& rule_;
  float max_;
  float temperature_;
};

Candidates candidates(std::span<const float> logits, const SamplingRule& rule,
                      const SampleHistory& history) {
  NB_CHECK(!logits.empty() && rule.temperature >= 0 && (!rule.top_k || *rule.top_k >= 1),
           "[sample] {} logits, temperature {}, top_k {}", logits.size(), rule.temperature,
           rule.top_k.value_or(0));
  const bool is_off = rule.options.is_off();
  std::vector<float> changed;
  if (!is_off) {
    const auto trouble = trouble_with(rule.options, static_cast<int>(logits.size()));
    NB_CHECK(!trouble, "[sample] {}", *trouble);
    changed.assign(logits.begin(), logits.end());
    change_logits(changed, rule.options, history);
    logits = changed;
  }
  if (rule.temperature == 0 || (!is_off && rule.temperature < kGreedyBelow))
    return {{first_largest(logits)}, {1.0F}};
  return Weighing(logits, rule).candidates();
}

}  // namespace

int first_largest(std::span<const float> logits) {
  return static_cast<int>(kernels::first_largest(logits));
}

int sample_token(std::span<const float> logits, const SamplingRule& rule, double u,
                 const SampleHistory& history) {
  const Candidates from = candidates(logits, rule, history);
  const std::size_t chosen = draw(from.weights, u);
  return from.ids.empty() ? static_cast<int>(chosen) : from.ids[chosen];
}

std::vector<float> sampling_weights(std::span<const float> logits, const SamplingRule& rule,
                                    const SampleHistory& history) {
  Candidates from = candidates(logits, rule, history);
  if (from.ids.empty()) return std::move(from.weights);
  std::vector<float> weights(logits.size(), 0.0F);
  for (std::size_t i = 0; i < from.ids.size(); ++i)
    weights[static_cast<std::size_t>(from.ids[i])] = from.weights[i];
  return weights;
}

SampleRandom::SampleRandom(std::uint64_t seed, int sample)
    : rng_(seed, "generate", static_cast<std::uint64_t>(sample)) {}

double SampleRandom::uniform(std::int64_t token) const {
  return rng_.uniform(static_cast<std::uint64_t>(token));
}

}  // namespace nb
