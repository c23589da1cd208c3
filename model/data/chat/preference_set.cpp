#include "model/data/chat/preference_set.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "harness/base/check.hpp"
#include "harness/base/hash.hpp"
#include "harness/base/parallel.hpp"
#include "model/data/chat/conversation_rows.hpp"
#include "model/data/chat/conversation_set.hpp"

namespace nb {
namespace {

constexpr std::size_t kPairsATask = 64;  // pairs a task

Result<RenderedConversation> render_last_answer(const Tokenizer& tokenizer,
                                                const Conversation& conversation,
                                                std::size_t max_tokens) {
  NB_TRY(RenderedConversation one, render_conversation(tokenizer, conversation, max_tokens));
  NB_TRY(const std::vector<int> prompt, render_for_completion(tokenizer, conversation, max_tokens));
  std::fill_n(one.mask.begin(), std::min(prompt.size(), one.mask.size()), std::uint8_t{0});
  if (std::ranges::find(one.mask, 1) == one.mask.end())
    return bad_input(fmt::format("its prompt leaves none of {} tokens to the answer", max_tokens));
  return one;
}

}  // namespace

Result<PreferenceSet> render_preferences(const Tokenizer& tokenizer,
                                         std::span<const Preference> preferences,
                                         std::size_t max_tokens, const std::string& where) {
  if (preferences.empty()) return bad_input(where + ": no pair in it");
  PreferenceSet set;
  set.pairs.resize(preferences.size());
  std::vector<std::string> faults(preferences.size());
  parallel_for(preferences.size(), kPairsATask, [&](std::size_t i) {
    faults[i] = preference_fault(preferences[i]);
    if (!faults[i].empty()) return;
    auto chosen = render_last_answer(tokenizer, preferences[i].chosen, max_tokens);
    auto rejected = render_last_answer(tokenizer, preferences[i].rejected, max_tokens);
    if (chosen && rejected)
      set.pairs[i] = {std::move(*chosen), std::move(*rejected)};
    else
      faults[i] = (chosen ? rejected : chosen).error().message;
  });
  std::vector<RenderedConversation> all;
  for (std::size_t i = 0; i < faults.size(); ++i) {
    if (!faults[i].empty())
      return bad_input(fmt::format("{}: pair {}: {}", where, i + 1, faults[i]));
    all.push_back(set.pairs[i].chosen);
    all.push_back(set.pairs[i].rejected);
  }
  set.sha256 = digest_of(all);
  return set;
}

Batch preference_batch(const PreferenceSet& set, std::int64_t first, std::int64_t count, int pad) {
  NB_CHECK(count >= 1 && !set.pairs.empty(), "[preferences] {} of {} pairs", count,
           set.pairs.size());
  std::vector<const RenderedConversation*> rows;
  for (const auto side : {&RenderedPreference::chosen, &RenderedPreference::rejected})
    for (std::int64_t i = first; i < first + count; ++i)
      rows.push_back(&(set.pairs[static_cast<std::size_t>(i % std::ssize(set.pairs))].*side));
  return padded_batch(rows, pad);
}

}  // namespace nb
