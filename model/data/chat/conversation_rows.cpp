#include "model/data/chat/conversation_rows.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

#include "harness/base/check.hpp"

namespace nb {
Batch padded_batch(std::span<const RenderedConversation* const> conversations, int pad) {
  std::size_t longest = 0;
  for (const RenderedConversation* one : conversations) {
    NB_CHECK(one->ids.size() >= 2, "[rows] a conversation of {} tokens", one->ids.size());
    longest = std::max(longest, one->ids.size() - 1);
  }
  Batch batch{std::ssize(conversations), static_cast<std::int64_t>(longest), {}, {}};
  batch.inputs.assign(conversations.size() * longest, pad);
  batch.targets.assign(conversations.size() * longest, -1);
  for (std::size_t row = 0; row < conversations.size(); ++row) {
    const RenderedConversation& one = *conversations[row];
    int* inputs = &batch.inputs[row * longest];
    int* targets = &batch.targets[row * longest];
    for (std::size_t t = 0; t + 1 < one.ids.size(); ++t) {
      inputs[t] = one.ids[t];
      if (one.mask[t + 1] != 0) targets[t] = one.ids[t + 1];
    }
  }
  return batch;
}

Result<ConversationRows> ConversationRows::create(const ConversationSet& set, int pad, int rank,
                                                  int world) {
  NB_CHECK(world >= 1 && rank >= 0 && rank < world, "[rows] rank {} of {}", rank, world);
  if (set.rendered.size() < static_cast<std::size_t>(world))
    return bad_input(
        fmt::format("{} conversations for {} cards; give more conversations or use fewer cards",
                    set.rendered.size(), world));
  return ConversationRows(set, pad, rank, world);
}

Batch ConversationRows::next(std::int64_t rows) {
  NB_CHECK(rows >= 1, "[rows] a batch of {} rows", rows);
  const auto size = std::ssize(set_->rendered);
  const std::int64_t in_pass = (size - rank_ + world_ - 1) / world_;  // of this rank
  std::vector<const RenderedConversation*> taken;
  for (std::int64_t i = 0; i < rows; ++i, ++taken_)
    taken.push_back(&set_->rendered[static_cast<std::size_t>(rank_ + taken_ % in_pass * world_)]);
  return padded_batch(taken, pad_);
}

Json ConversationRows::state() const { return to_json(place()); }

Result<void> ConversationRows::restore(const Json& state) {
  NB_TRY(taken_, taken_of(state, place()));
  return {};
}

}  // namespace nb
