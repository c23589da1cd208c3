#include "model/data/chat/conversation_stream.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "harness/base/check.hpp"

namespace nb {
ConversationStream::ConversationStream(const ConversationSet& set, int rank, int world)
    : set_(&set),
      rank_(rank),
      world_(world),
      cursor_(static_cast<std::size_t>(rank)),
      front_(static_cast<std::size_t>(rank)) {}

Result<ConversationStream> ConversationStream::create(const ConversationSet& set, int rank,
                                                      int world) {
  NB_CHECK(world >= 1 && rank >= 0 && rank < world, "[stream] rank {} of {}", rank, world);
  if (set.rendered.size() < static_cast<std::size_t>(world))
    return bad_input(
        fmt::format("{} conversations for {} cards; give more conversations or use fewer cards",
                    set.rendered.size(), world));
  return ConversationStream(set, rank, world);
}

void ConversationStream::take(std::int64_t count, int* out) {
  const std::size_t size = set_->rendered.size();
  const auto advance = [&](std::size_t& place) {
    place += static_cast<std::size_t>(world_);
    const bool wraps = place >= size;
    if (wraps) place -= size;
    return wraps;
  };
  while (buffered_ < count) {
    buffered_ += std::ssize(set_->rendered[cursor_].ids);
    if (advance(cursor_)) ++wraps_;
  }
  buffered_ -= count;
  taken_ += count;
  while (count > 0) {
    const std::vector<int>& ids = set_->rendered[front_].ids;
    const auto n = std::min(static_cast<std::size_t>(count), ids.size() - offset_);
    if (out != nullptr) out = std::copy_n(ids.data() + offset_, n, out);
    offset_ += n;
    count -= static_cast<std::int64_t>(n);
    if (offset_ < ids.size()) continue;
    offset_ = 0;
    advance(front_);
  }
}

Batch ConversationStream::next(std::int64_t rows, std::int64_t length) {
  NB_CHECK(rows >= 1 && length >= 1, "[stream] a batch of {} rows of {}", rows, length);
  std::vector<int> tokens(static_cast<std::size_t>(rows * length) + 1);
  take(std::ssize(tokens), tokens.data());
  Batch batch{rows, length, {}, {}};
  batch.targets.assign(tokens.begin() + 1, tokens.end());
  tokens.pop_back();
  batch.inputs = std::move(tokens);
  return batch;
}

void ConversationStream::skip(std::int64_t rows, std::int64_t length) {
  take(rows * length + 1, nullptr);
}

double ConversationStream::progress() const {
  return static_cast<double>(cursor_) / static_cast<double>(set_->rendered.size());
}

Json ConversationStream::state() const { return to_json(place()); }

Result<void> ConversationStream::restore(const Json& state) {
  NB_TRY(const std::int64_t taken, taken_of(state, place()));
  *this = ConversationStream(*set_, rank_, world_);
  if (taken > 0) take(taken, nullptr);
  return {};
}

StreamPlan plan_updates(std::int64_t accumulation_steps, const std::function<PassPlace()>& fetch) {
  StreamPlan plan;
  double progress = 0;
  bool is_over = false;
  const auto fetch_next = [&] {
    const PassPlace place = fetch();
    progress = std::max(progress, place.progress);
    is_over = place.is_over;
  };
  fetch_next();
  while (!is_over) {
    for (std::int64_t micro = 0; micro < accumulation_steps; ++micro) fetch_next();
    plan.progress.push_back(progress);
  }
  return plan;
}

StreamPlan plan_stream(ConversationStream fresh, std::int64_t rows, std::int64_t length,
                       std::int64_t accumulation_steps) {
  return plan_updates(accumulation_steps, [&] {
    fresh.skip(rows, length);
    return PassPlace{fresh.progress(), fresh.has_wrapped()};
  });
}

}  // namespace nb
