// One conversation a row, padded to the longest of the batch, the assistant's tokens alone as
// targets: the loader of nanochat's chat_sft.py (3a5e0bc). Conversations come in their order, for
// ever. Not thread-safe: one owner. The set outlives it.
#pragma once

#include <cstdint>

#include "harness/base/json_io.hpp"
#include "harness/base/result.hpp"
#include "model/data/chat/conversation_set.hpp"
#include "model/data/chat/loader_place.hpp"
#include "model/data/loader.hpp"

namespace nb {

// Rows of one length from conversations of several: inputs are all ids but the last, padded on the
// right with `pad`; targets all but the first, -1 where they are not supervised and on the padding.
// With at least two ids each.
Batch padded_batch(std::span<const RenderedConversation* const> conversations, int pad);

class ConversationRows {
 public:
  // pad: the id that fills rows, <|assistant_end|> in the reference. bad_input: no conversation for
  // a rank.
  static Result<ConversationRows> create(const ConversationSet& set, int pad, int rank = 0,
                                         int world = 1);
  Batch next(std::int64_t rows);
  void rewind() { taken_ = 0; }

  // restore() refuses another set's state.
  Json state() const;
  Result<void> restore(const Json& state);

 private:
  LoaderPlace place() const { return {set_->sha256, rank_, world_, taken_}; }
  ConversationRows(const ConversationSet& set, int pad, int rank, int world)
      : set_(&set), pad_(pad), rank_(rank), world_(world) {}

  const ConversationSet* set_;
  int pad_, rank_, world_;
  std::int64_t taken_ = 0;  // rows, since the start
};

}  // namespace nb
