// Preferences as token ids, in the order in which DPO takes them, and the rows of a batch of pairs.
// Immutable.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "harness/base/result.hpp"
#include "model/data/loader.hpp"
#include "model/data/tasks/preference.hpp"

namespace nb {

// Both masks mark the last answer alone, what both have in common is never counted.
struct RenderedPreference {
  RenderedConversation chosen, rejected;
};

struct PreferenceSet {
  std::vector<RenderedPreference> pairs;
  std::string sha256;  // of all ids and masks
};

// Each answer is cut to its first max_tokens, the prompt included. Errors name the pair by its
// number, from 1: preference_fault(), or an answer of which no token is left.
Result<PreferenceSet> render_preferences(const Tokenizer& tokenizer,
                                         std::span<const Preference> preferences,
                                         std::size_t max_tokens, const std::string& where);

// `count` pairs from number `first` on, again from the start behind the last: the chosen rows, then
// the rejected ones, padded as padded_batch() does.
Batch preference_batch(const PreferenceSet& set, std::int64_t first, std::int64_t count, int pad);

}  // namespace nb
