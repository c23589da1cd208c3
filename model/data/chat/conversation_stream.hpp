// The conversations as one stream of tokens, all of them trained on, the user's too: the loader of
// nanochat's mid_train.py (3a5e0bc). Conversations rank, rank + world, … go to the end of a buffer
// until it holds a batch; a batch takes B·T + 1 tokens off its front. At the end the next pass
// starts. Not thread-safe: one owner. The set outlives it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "harness/base/json_io.hpp"
#include "harness/base/result.hpp"
#include "model/data/chat/conversation_set.hpp"
#include "model/data/chat/loader_place.hpp"
#include "model/data/loader.hpp"

namespace nb {

class ConversationStream {
 public:
  // bad_input: fewer conversations than ranks.
  static Result<ConversationStream> create(const ConversationSet& set, int rank = 0, int world = 1);

  Batch next(std::int64_t rows, std::int64_t length);
  // The same without the tokens: only what progress() and has_wrapped() tell.
  void skip(std::int64_t rows, std::int64_t length);

  // Share of this pass that has gone into the buffer; small again after the end was passed.
  double progress() const;
  bool has_wrapped() const { return wraps_ > 0; }

  // restore() refuses another set's state.
  Json state() const;
  Result<void> restore(const Json& state);

 private:
  LoaderPlace place() const { return {set_->sha256, rank_, world_, taken_}; }
  ConversationStream(const ConversationSet& set, int rank, int world);
  void take(std::int64_t count, int* out);  // out null: only counts

  const ConversationSet* set_;
  int rank_, world_;
  std::int64_t taken_ = 0;     // tokens, since the start
  std::int64_t buffered_ = 0;  // tokens in the buffer
  std::size_t cursor_;         // the conversation that enters next
  std::size_t front_;          // the one at the front
  std::size_t offset_ = 0;     // of the front's tokens that were taken
  std::int64_t wraps_ = 0;
};

// What a training over the stream will do: it ends with the update after which the stream has
// wrapped (the first batch is fetched before the first update, each next one before the update is
// made, as the reference does).
struct StreamPlan {
  std::vector<double> progress;  // of each update: the largest so far, as its rate needs it
};
struct PassPlace {
  double progress = 0;
  bool is_over = false;
};
StreamPlan plan_updates(std::int64_t accumulation_steps,
                        const std::function<PassPlace()>& fetch);  // of the next batch
StreamPlan plan_stream(ConversationStream fresh, std::int64_t rows, std::int64_t length,
                       std::int64_t accumulation_steps);

}  // namespace nb
