#include "model/data/chat/conversation_packs.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "harness/base/check.hpp"

namespace nb {

ConversationPacks::ConversationPacks(const ConversationSet& set, const PackingPlan& plan, int rank,
                                     int world)
    : set_(&set),
      plan_(plan),
      rank_(rank),
      world_(world),
      cursor_(static_cast<std::size_t>(rank)),
      consumed_(rank) {}

Result<ConversationPacks> ConversationPacks::create(const ConversationSet& set,
                                                    const PackingPlan& plan, int rank, int world) {
  NB_CHECK(world >= 1 && rank >= 0 && rank < world, "[packs] rank {} of {}", rank, world);
  NB_CHECK(plan.length >= 1 && plan.buffer >= 1, "[packs] rows of {}, a buffer of {}", plan.length,
           plan.buffer);
  if (set.rendered.size() < static_cast<std::size_t>(world))
    return bad_input(
        fmt::format("{} conversations for {} cards; give more conversations or use fewer cards",
                    set.rendered.size(), world));
  return ConversationPacks(set, plan, rank, world);
}

std::vector<std::size_t> ConversationPacks::next_row() {
  std::vector<std::size_t> row;
  std::int64_t rest = plan_.length + 1;
  while (rest > 0) {
    while (std::ssize(buffer_) < plan_.buffer) {
      buffer_.push_back(cursor_);
      cursor_ += static_cast<std::size_t>(world_);
      if (cursor_ >= set_->rendered.size()) cursor_ %= set_->rendered.size();
    }
    auto best = buffer_.end();
    std::int64_t longest = 0;
    for (auto one = buffer_.begin(); one != buffer_.end(); ++one) {
      const std::int64_t size = std::ssize(set_->rendered[*one].ids);
      if (size > rest || size <= longest) continue;
      best = one;
      longest = size;
    }
    if (best == buffer_.end()) break;
    row.push_back(*best);
    buffer_.erase(best);
    rest -= longest;
    consumed_ += world_;
  }
  ++taken_;
  return row;
}

Batch ConversationPacks::next(std::int64_t rows) {
  NB_CHECK(rows >= 1, "[packs] a batch of {} rows", rows);
  const auto length = static_cast<std::size_t>(plan_.length);
  Batch batch{rows, plan_.length, {}, {}};
  for (std::int64_t r = 0; r < rows; ++r) {
    std::vector<int> ids, targets;  // of the row's length + 1 tokens
    for (const std::size_t index : next_row()) {
      const RenderedConversation& one = set_->rendered[index];
      ids.insert(ids.end(), one.ids.begin(), one.ids.end());
      for (std::size_t t = 0; t < one.ids.size(); ++t)
        targets.push_back(one.mask[t] != 0 ? one.ids[t] : -1);
    }
    ids.resize(length + 1, plan_.pad);
    targets.resize(length + 1, -1);
    batch.inputs.insert(batch.inputs.end(), ids.begin(), ids.end() - 1);
    batch.targets.insert(batch.targets.end(), targets.begin() + 1, targets.end());
  }
  return batch;
}

void ConversationPacks::skip(std::int64_t rows) {
  for (std::int64_t r = 0; r < rows; ++r) next_row();
}

double ConversationPacks::progress() const {
  return static_cast<double>(consumed_) / static_cast<double>(set_->rendered.size());
}

Json ConversationPacks::state() const { return to_json(place()); }

Result<void> ConversationPacks::restore(const Json& state) {
  NB_TRY(const std::int64_t taken, taken_of(state, place()));
  *this = ConversationPacks(*set_, plan_, rank_, world_);
  skip(taken);
  return {};
}

std::int64_t ConversationPacks::too_long() const {
  return std::ranges::count_if(set_->rendered, [&](const RenderedConversation& one) {
    return std::ssize(one.ids) > plan_.length + 1;
  });
}

Result<void> ConversationPacks::advance(std::int64_t rows) {
  const std::int64_t before = consumed_;
  skip(rows);
  if (consumed_ > before) return {};
  return bad_input(
      fmt::format("{} of {} conversations have more than the {} tokens of a packed row, and they "
                  "fill the buffer of {}; choose a larger sequence_len, or leave them out",
                  too_long(), set_->rendered.size(), plan_.length + 1, plan_.buffer));
}

Result<StreamPlan> plan_packs(ConversationPacks fresh, std::int64_t rows,
                              std::int64_t accumulation_steps) {
  Result<void> moved;
  StreamPlan plan = plan_updates(accumulation_steps, [&] {
    moved = fresh.advance(rows);
    return PassPlace{fresh.progress(), fresh.has_passed() || !moved};
  });
  if (!fresh.has_passed()) NB_TRY_VOID(std::move(moved));
  return plan;
}

Result<void> check_packs(ConversationPacks fresh, std::int64_t rows, std::int64_t batches) {
  for (std::int64_t i = 0; i < batches; ++i) NB_TRY_VOID(fresh.advance(rows));
  return {};
}

}  // namespace nb
