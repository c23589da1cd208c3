// Chunks of many sequences as one batch of rows: their tokens and positions, and the keys that each
// row's sequence sees in one layer. What an incremental forward pass needs, whatever the network.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "model/kernels/attention.hpp"
#include "model/ops/key_value_cache.hpp"

namespace nb::ops {

struct ChunkRows {
  std::vector<int> tokens;
  std::vector<std::int64_t> positions;
  std::int64_t count() const { return static_cast<std::int64_t>(positions.size()); }
};
// The chunks in order. NB_CHECK: check_chunk() of each.
ChunkRows chunk_rows(std::span<const Chunk> chunks, std::int64_t context_length);

// Keys and values of one layer for every chunk: those of its prefix caches, then its own rows, out
// of its own cache (append_keys_values has added them) or, without one, of k and v (rows, width).
// Views: chunks, k and v must outlive it.
class LayerKeys {
 public:
  LayerKeys(std::span<const Chunk> chunks, std::int64_t layer, const Tensor& k, const Tensor& v);
  std::span<const kernels::CachedSequence> sequences() const { return sequences_; }
  // From now on q has these rows of the chunks alone (ascending).
  void keep_queries(std::span<const std::int64_t> rows);

 private:
  void push(const KeyValueCache& cache, std::int64_t layer, std::int64_t pending);
  std::vector<kernels::KeySegment> segments_;
  std::vector<kernels::CachedSequence> sequences_;
};

}  // namespace nb::ops
