// What the engine needs of a network that predicts the next token: a forward pass over chunks of
// many sequences at once, with keys and values of what came before kept in caches: a decoder, or
// a script in a test. Not here: tokens' meaning, sampling, batching. One device, one thread.
//
// Promise: the logits of a row are a function of the tokens of its sequence up to that row alone,
// to the bit: one pass, chunks of any sizes, any split of the caches, any neighbours in the batch.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include "model/ops/key_value_cache.hpp"

namespace nb {

// Capped logits, rounded to the storage dtype, in blocks of rows: row i belongs to the wanted row
// wanted[first + i]. The view dies with the call. No calls on a dry device.
using LogitSink = std::function<void(std::int64_t first, ConstMatrix logits)>;

class IncrementalModel {
 public:
  virtual ~IncrementalModel() = default;
  // The chunks' tokens are the rows, in order. `wanted`: ascending rows whose logits go to the
  // sink; only those reach the output layer; none: no logits at all. Chunks must be of different
  // sequences (no chunk may need what another one of the same call computes). Appends to each
  // chunk's own cache. Throws OutOfMemory.
  virtual void forward(std::span<const Chunk> chunks, std::span<const std::int64_t> wanted,
                       const LogitSink& sink) = 0;
  // forward() for scores: leaves out what neither a wanted row nor a cache needs. Same bits.
  virtual void forward_for_scores(std::span<const Chunk> chunks,
                                  std::span<const std::int64_t> wanted, const LogitSink& sink) {
    forward(chunks, wanted, sink);
  }
  virtual std::unique_ptr<KeyValueCache> new_cache(std::int64_t first_position,
                                                   std::int64_t capacity) = 0;
  virtual std::int64_t vocab_size() const = 0;
  virtual std::int64_t context_length() const = 0;  // positions, in tokens
  virtual Device& device() const = 0;
};

}  // namespace nb
