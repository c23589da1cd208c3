#include "model/engine/logit_rules.hpp"

#include <algorithm>
#include <limits>
#include <vector>

#include "harness/base/check.hpp"
#include "model/engine/sampler.hpp"

namespace nb {
namespace {

constexpr float kTaken = -std::numeric_limits<float>::infinity();

float finite(float z) {
  constexpr float kMost = std::numeric_limits<float>::max();
  return z == kTaken ? z : std::clamp(z, -kMost, kMost);
}

// `take` sets logits to kTaken; what was the largest before it stays when nothing else does.
template <class Take>
void take_but_one(std::span<float> logits, const Take& take) {
  const auto best = static_cast<std::size_t>(first_largest(logits));
  const float before = logits[best];
  take();
  if (std::ranges::all_of(logits, [](float z) { return z == kTaken; })) logits[best] = before;
}

void keep_only(std::span<float> logits, std::span<const int> ids) {
  std::vector<float> kept(logits.size(), kTaken);
  for (const int id : ids)
    kept.at(static_cast<std::size_t>(id)) = logits[static_cast<std::size_t>(id)];
  std::ranges::copy(kept, logits.begin());
}

bool ends_with(std::span<const int> tokens, std::span<const int> end) {
  return tokens.size() >= end.size() && std::ranges::equal(tokens.last(end.size()), end);
}

std::vector<int> distinct(std::span<const int> a, std::span<const int> b) {
  std::vector<int> ids(a.begin(), a.end());
  ids.insert(ids.end(), b.begin(), b.end());
  std::ranges::sort(ids);
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  return ids;
}

void penalize(std::span<float> logits, const SamplingOptions& options,
              const SampleHistory& history) {
  // An id behind the sampled ones has no logit: padding of the model's that a prompt may hold.
  const auto has_logit = [&](int id) { return static_cast<std::size_t>(id) < logits.size(); };
  const auto repetition = static_cast<float>(options.repetition_penalty);
  if (repetition != 1) {
    for (const int id : distinct(history.prompt, history.tokens)) {
      if (!has_logit(id)) continue;
      float& z = logits[static_cast<std::size_t>(id)];
      z = finite(z > 0 ? z / repetition : z * repetition);
    }
  }
  const auto frequency = static_cast<float>(options.frequency_penalty);
  const auto presence = static_cast<float>(options.presence_penalty);
  if (frequency == 0 && presence == 0) return;
  for (const int id : distinct({}, history.tokens)) {
    if (!has_logit(id)) continue;
    float& z = logits[static_cast<std::size_t>(id)];
    z -= frequency * static_cast<float>(std::ranges::count(history.tokens, id));
    z -= presence;
    z = finite(z);
  }
}

}  // namespace

void change_logits(std::span<float> logits, const SamplingOptions& options,
                   const SampleHistory& history) {
  NB_CHECK(!logits.empty(), "[sample] no logits");
  if (!options.allowed.empty()) keep_only(logits, options.allowed);
  const auto take = [&](int id) { logits[static_cast<std::size_t>(id)] = kTaken; };
  if (!options.bad_words.empty()) {
    take_but_one(logits, [&] {
      for (const std::span<const int> words : options.bad_words)
        if (ends_with(history.tokens, words.first(words.size() - 1))) take(words.back());
    });
  }
  if (std::ssize(history.tokens) < options.min_tokens && !options.min_tokens_ids.empty()) {
    take_but_one(logits, [&] { std::ranges::for_each(options.min_tokens_ids, take); });
  }
  for (const auto& [id, bias] : options.logit_bias) {
    float& z = logits[static_cast<std::size_t>(id)];
    z = finite(z + static_cast<float>(std::clamp(bias, -100.0, 100.0)));
  }
  penalize(logits, options, history);
}

}  // namespace nb
