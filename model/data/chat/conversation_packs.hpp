// Whole conversations packed into rows of one length, the largest that fits first: the loader of
// newer nanochat's chat_sft.py (since 2026-01; read at 00255c1). Conversations rank, rank + world,
// … fill a buffer; each row takes from it the longest one that fits its rest, the first of equals,
// and where none fits the rest is padding. Nothing is cut. A conversation that no row can hold is
// never trained on: it waits in the buffer for ever and takes a place there, one more in each pass.
// Targets are the supervised tokens, -1 elsewhere. Not thread-safe: one owner. The set outlives it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "harness/base/json_io.hpp"
#include "harness/base/result.hpp"
#include "model/data/chat/conversation_set.hpp"
#include "model/data/chat/conversation_stream.hpp"
#include "model/data/chat/loader_place.hpp"
#include "model/data/loader.hpp"

namespace nb {

inline constexpr std::int64_t kPackingBuffer = 100;  // conversations, the reference's

struct PackingPlan {
  std::int64_t length = 0;               // inputs of a row: it holds one token more
  std::int64_t buffer = kPackingBuffer;  // conversations to choose from
  int pad = 0;                           // <|bos|> in the reference
};

class ConversationPacks {
 public:
  // bad_input: fewer conversations than ranks.
  static Result<ConversationPacks> create(const ConversationSet& set, const PackingPlan& plan,
                                          int rank = 0, int world = 1);

  Batch next(std::int64_t rows);
  // The same without the tokens: only what progress() and has_passed() tell.
  void skip(std::int64_t rows);
  // skip(). bad_input: the batch is padding alone, because the buffer holds nothing but
  // conversations that are too long. The reference then goes on for ever with a loss of NaN.
  Result<void> advance(std::int64_t rows);

  // Conversations that went into rows, of all ranks if they take as many; beyond 1 in later passes.
  double progress() const;
  bool has_passed() const { return consumed_ >= std::ssize(set_->rendered); }
  // Conversations of the set that no row can hold.
  std::int64_t too_long() const;

  // restore() refuses another set's state.
  Json state() const;
  Result<void> restore(const Json& state);

 private:
  LoaderPlace place() const { return {set_->sha256, rank_, world_, taken_}; }
  ConversationPacks(const ConversationSet& set, const PackingPlan& plan, int rank, int world);
  std::vector<std::size_t> next_row();  // the conversations in it

  const ConversationSet* set_;
  PackingPlan plan_;
  int rank_, world_;
  std::vector<std::size_t> buffer_;  // in the order in which they came
  std::size_t cursor_;               // the conversation that enters next
  std::int64_t consumed_;            // begins at the rank, as the reference's
  std::int64_t taken_ = 0;           // rows, since the start
};

// The updates of one pass: as plan_stream(). bad_input: a pass that does not come to its end.
Result<StreamPlan> plan_packs(ConversationPacks fresh, std::int64_t rows,
                              std::int64_t accumulation_steps);
// bad_input: one of so many batches is padding alone.
Result<void> check_packs(ConversationPacks fresh, std::int64_t rows, std::int64_t batches);

}  // namespace nb
