// Causal attention over whole sequences, and over caches; each key-value head serves
// heads / kv_heads consecutive query heads.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "model/device/device.hpp"
#include "model/kernels/attention.hpp"
#include "model/ops/key_value_cache.hpp"

namespace nb::ops {

// Sizes of an attention over whole sequences: q (B·T, H·D), k and v (B·T, G·D). Plain value.
struct HeadShape {
  std::int64_t batch = 0;
  std::int64_t time = 0;
  std::int64_t heads = 0;
  std::int64_t kv_heads = 0;
  std::int64_t head_dim = 0;
  std::int64_t window = 0;  // keys before its own that a query sees; 0: all

  std::int64_t rows() const { return batch * time; }
};

// q (B·T, H·D), k and v (B·T, G·D) → (B·T, H·D).
Tensor attention(const Tensor& q, const Tensor& k, const Tensor& v, const HeadShape& shape,
                 std::string_view label);

// Over caches, for chunks of many sequences in one batch: their keys and values go behind what the
// caches hold, and each row attends to its own sequence. Neither op has a gradient: they fail where
// a tape is open.

// k, v (rows, G·D): the chunks' rows in order. Copies those of each chunk that has its own cache
// behind what the cache holds of this layer; KeyValueCache::advance is the caller's, after the last
// layer.
void append_keys_values(const Tensor& k, const Tensor& v, std::int64_t layer,
                        std::span<const Chunk> chunks, std::string_view label);

// One layer of a batch of chunks.
struct CachedBatch {
  std::span<const Chunk> chunks;
  std::int64_t layer = 0;
  // The rows of the chunks that q has, ascending; none given: all.
  std::optional<std::span<const std::int64_t>> rows = {};
};

// q (rows, H·D), k and v (rows of the chunks, G·D) → (rows, H·D). Keys of a row: those in its
// chunk's prefix, in its own cache (append_keys_values has added the chunk's there) and, where it
// has none, the chunk's rows of k and v. On the device it is one attention whose batch is 1, with
// the rows and keys of all sequences together and the visible pairs counted one by one (a "varlen"
// kernel): no padding is paid, a prefix that sequences share is read by each.
Tensor attention_cached(const Tensor& q, const Tensor& k, const Tensor& v, const CachedBatch& batch,
                        const kernels::CachedShape& shape, std::string_view label);

}  // namespace nb::ops
