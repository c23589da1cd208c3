#include "model/ops/key_value_cache.hpp"

#include <algorithm>

#include "harness/base/check.hpp"

namespace nb {

KeyValueCache::KeyValueCache(Device& device, const CacheShape& shape, std::int64_t first_position,
                             std::int64_t capacity)
    : shape_(shape), first_position_(first_position), capacity_(capacity) {
  NB_CHECK(shape.layers > 0 && shape.width > 0 && first_position >= 0 && capacity > 0,
           "[key_value_cache] {} layers of width {}, positions {} to {}", shape.layers, shape.width,
           first_position, first_position + capacity);
  block_ = device.allocate({2 * shape.layers * capacity, shape.width}, device.numerics().storage,
                           "key_value_cache");
}

std::int64_t KeyValueCache::first_row(std::int64_t layer, std::int64_t which) const {
  NB_CHECK(layer >= 0 && layer < shape_.layers, "[key_value_cache] layer {} of {}", layer,
           shape_.layers);
  return (2 * layer + which) * capacity_;
}

ConstMatrix KeyValueCache::filled(std::int64_t layer, std::int64_t which) const {
  const std::int64_t first = first_row(layer, which);
  if (block_.host().empty()) return {nullptr, size_, shape_.width, shape_.width};
  return row_block(block_.matrix(), first, size_);
}

Matrix KeyValueCache::next(std::int64_t layer, std::int64_t which, std::int64_t count) {
  NB_CHECK(size_ + count <= capacity_, "[key_value_cache] {} + {} positions, capacity {}", size_,
           count, capacity_);
  return row_block(block_.matrix(), first_row(layer, which) + size_, count);
}

ConstMatrix KeyValueCache::keys(std::int64_t layer) const { return filled(layer, 0); }
ConstMatrix KeyValueCache::values(std::int64_t layer) const { return filled(layer, 1); }
Matrix KeyValueCache::next_keys(std::int64_t layer, std::int64_t count) {
  return next(layer, 0, count);
}
Matrix KeyValueCache::next_values(std::int64_t layer, std::int64_t count) {
  return next(layer, 1, count);
}

void KeyValueCache::advance(std::int64_t count) {
  NB_CHECK(count >= 0 && size_ + count <= capacity_, "[key_value_cache] {} + {}, capacity {}",
           size_, count, capacity_);
  size_ += count;
}

void check_chunk(const Chunk& chunk, std::int64_t context_length) {
  const auto count = static_cast<std::int64_t>(chunk.tokens.size());
  NB_CHECK(count > 0 && chunk.first_position >= 0, "[chunk] {} tokens at position {}", count,
           chunk.first_position);
  NB_CHECK(chunk.first_position + count <= context_length, "[chunk] positions {} to {} of {}",
           chunk.first_position, chunk.first_position + count, context_length);
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

namespace ops {
namespace {

void copy_rows(ConstMatrix from, Matrix to) {
  for (std::int64_t i = 0; i < from.rows; ++i) std::copy_n(from.row(i), from.cols, to.row(i));
}

}  // namespace

void append_keys_values(Device& device, const Tensor& k, const Tensor& v, std::int64_t layer,
                        std::span<const Chunk> chunks, std::string_view label) {
  NB_CHECK(k.shape() == v.shape(), "[append_keys_values] {}: k {}, v {}", label, k.shape().text(),
           v.shape().text());
  std::int64_t rows = 0, kept = 0;
  for (const Chunk& chunk : chunks) {
    const auto count = static_cast<std::int64_t>(chunk.tokens.size());
    rows += count;
    if (chunk.own == nullptr) continue;
    kept += count;
    NB_CHECK(chunk.own->shape().width == k.shape().last(),
             "[append_keys_values] {}: k {}, cache of width {}", label, k.shape().text(),
             chunk.own->shape().width);
  }
  NB_CHECK(k.shape().leading() == rows, "[append_keys_values] {}: k {}, chunks of {} tokens", label,
           k.shape().text(), rows);
  if (kept == 0) return;
  const OpDesc desc = {.kind = OpKind::kKvCacheAppend,
                       .label = label,
                       .batch = 1,
                       .time = kept,
                       .kv_heads = 1,
                       .head_dim = k.shape().last(),
                       .inputs = {&k, &v}};
  static_cast<void>(device.run(desc, [&] {
    std::int64_t row = 0;
    for (const Chunk& chunk : chunks) {
      const auto count = static_cast<std::int64_t>(chunk.tokens.size());
      if (chunk.own != nullptr) {
        copy_rows(row_block(k.matrix(), row, count), chunk.own->next_keys(layer, count));
        copy_rows(row_block(v.matrix(), row, count), chunk.own->next_values(layer, count));
      }
      row += count;
    }
  }));
}

}  // namespace ops
}  // namespace nb
