// Attention over caches, for chunks of many sequences in one batch: their keys and values go behind
// what the caches hold, and each row attends to its own sequence. Neither op has a gradient: they
// fail where a tape is open.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "model/kernels/attention.hpp"
#include "model/ops/key_value_cache.hpp"

namespace nb::ops {

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
