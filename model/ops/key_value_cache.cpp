#include "model/ops/key_value_cache.hpp"

#include "harness/base/check.hpp"

namespace nb {

KeyValueCache::KeyValueCache(Device& device, const CacheShape& shape, std::int64_t first_position,
                             std::int64_t capacity)
    : shape_(shape), first_position_(first_position), capacity_(capacity) {
  if (shape_.head_dim == 0) shape_.head_dim = shape_.width;
  NB_CHECK(shape.layers > 0 && shape.width > 0 && shape.width % shape_.head_dim == 0 &&
               first_position >= 0 && capacity > 0,
           "[key_value_cache] {} layers of width {} in heads of {}, positions {} to {}",
           shape.layers, shape.width, shape.head_dim, first_position, first_position + capacity);
  const bool is_bf16 = device.numerics().matmul().inputs == DType::kBf16;
  block_ = device.allocate({2 * shape.layers * capacity, shape.width}, device.numerics().storage,
                           "key_value_cache", Lifetime::kPassing, BlockUse::kCache);
  if (!device.executes()) return;
  if (is_bf16)
    bf16_ = block_.bf16().data();
  else
    fp32_ = block_.host().data();
}

std::int64_t KeyValueCache::first_value(std::int64_t layer, std::int64_t which) const {
  NB_CHECK(layer >= 0 && layer < shape_.layers, "[key_value_cache] layer {} of {}", layer,
           shape_.layers);
  return (2 * layer + which) * capacity_ * shape_.width;
}

kernels::KeyRows KeyValueCache::filled(std::int64_t layer, std::int64_t which,
                                       std::int64_t pending) const {
  NB_CHECK(pending >= 0 && size_ + pending <= capacity_,
           "[key_value_cache] {} + {} positions, capacity {}", size_, pending, capacity_);
  const std::int64_t first = first_value(layer, which);
  kernels::KeyRows rows;
  if (fp32_ != nullptr) rows.fp32 = fp32_ + first;
  if (bf16_ != nullptr) rows.bf16 = bf16_ + first;
  rows.rows = size_ + pending;
  rows.cols = shape_.width;
  rows.stride = shape_.head_dim;
  rows.head_stride = capacity_ * shape_.head_dim;
  return rows;
}

kernels::KeyRows KeyValueCache::keys(std::int64_t layer, std::int64_t pending) const {
  block_.device().finish_host();
  return filled(layer, 0, pending);
}
kernels::KeyRows KeyValueCache::values(std::int64_t layer, std::int64_t pending) const {
  block_.device().finish_host();
  return filled(layer, 1, pending);
}
kernels::KeySegment KeyValueCache::segment(std::int64_t layer, std::int64_t pending) const {
  return {filled(layer, 0, pending), filled(layer, 1, pending)};
}

kernels::KeySpace KeyValueCache::next(std::int64_t layer, std::int64_t which, std::int64_t count) {
  NB_CHECK(size_ + count <= capacity_, "[key_value_cache] {} + {} positions, capacity {}", size_,
           count, capacity_);
  const std::int64_t first = first_value(layer, which) + size_ * shape_.head_dim;
  kernels::KeySpace space = {.stride = shape_.head_dim,
                             .head_stride = capacity_ * shape_.head_dim,
                             .head_dim = shape_.head_dim};
  if (fp32_ != nullptr) space.fp32 = fp32_ + first;
  if (bf16_ != nullptr) space.bf16 = bf16_ + first;
  return space;
}

kernels::KeySpace KeyValueCache::next_keys(std::int64_t layer, std::int64_t count) {
  return next(layer, 0, count);
}
kernels::KeySpace KeyValueCache::next_values(std::int64_t layer, std::int64_t count) {
  return next(layer, 1, count);
}

void KeyValueCache::advance(std::int64_t count) {
  NB_CHECK(count >= 0 && size_ + count <= capacity_, "[key_value_cache] {} + {}, capacity {}",
           size_, count, capacity_);
  size_ += count;
}

void KeyValueCache::advance(std::span<const int> tokens) {
  advance(static_cast<std::int64_t>(tokens.size()));
  if (!tokens.empty()) last_token_ = tokens.back();
}

void check_chunk(const Chunk& chunk, std::int64_t context_length) {
  const auto count = static_cast<std::int64_t>(chunk.tokens.size());
  NB_CHECK(count > 0 && chunk.first_position >= 0, "[chunk] {} tokens at position {}", count,
           chunk.first_position);
  NB_CHECK(chunk.first_position + count <= context_length, "[chunk] positions {} to {} of {}",
           chunk.first_position, chunk.first_position + count, context_length);
  const std::int64_t told = chunk.first_position + chunk.position_shift;
  NB_CHECK(told >= 0 && told + count <= context_length, "[chunk] positions {} to {} of {}", told,
           told + count, context_length);
  std::int64_t next = 0;
  for (const auto& cache : chunk.prefix) {
    NB_CHECK(cache != nullptr && cache->first_position() == next,
             "[chunk] the prefix's next part should start at {}", next);
    next = cache->end_position();
  }
  if (chunk.own != nullptr) {
    NB_CHECK(chunk.own->first_position() == next,
             "[chunk] own cache starts at {}, the prefix ends at {}", chunk.own->first_position(),
             next);
    next = chunk.own->end_position();
    NB_CHECK(chunk.own->size() + count <= chunk.own->capacity(),
             "[chunk] {} more positions in a cache of {} with {}", count, chunk.own->capacity(),
             chunk.own->size());
  }
  NB_CHECK(next == chunk.first_position, "[chunk] starts at {}, the caches end at {}",
           chunk.first_position, next);
}

}  // namespace nb

namespace nb::ops {

ChunkRows chunk_rows(std::span<const Chunk> chunks, std::int64_t context_length) {
  ChunkRows rows;
  for (const Chunk& chunk : chunks) {
    check_chunk(chunk, context_length);
    rows.tokens.insert(rows.tokens.end(), chunk.tokens.begin(), chunk.tokens.end());
    for (std::size_t i = 0; i < chunk.tokens.size(); ++i) {
      rows.positions.push_back(chunk.first_position + chunk.position_shift +
                               static_cast<std::int64_t>(i));
    }
  }
  return rows;
}

}  // namespace nb::ops
