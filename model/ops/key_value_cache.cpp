#include "model/ops/key_value_cache.hpp"

#include "harness/base/check.hpp"
#include "harness/base/parallel.hpp"

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
                           "key_value_cache", is_bf16 ? HostBuffer::kHalves : HostBuffer::kYes);
  if (!block_.host().empty()) fp32_ = block_.host().data();
  if (!block_.halves().empty()) halves_ = block_.halves().data();
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
  if (halves_ != nullptr) rows.halves = halves_ + first;
  rows.rows = size_ + pending;
  rows.cols = shape_.width;
  rows.stride = shape_.head_dim;
  rows.head_stride = capacity_ * shape_.head_dim;
  return rows;
}

kernels::KeyRows KeyValueCache::keys(std::int64_t layer, std::int64_t pending) const {
  return filled(layer, 0, pending);
}
kernels::KeyRows KeyValueCache::values(std::int64_t layer, std::int64_t pending) const {
  return filled(layer, 1, pending);
}

kernels::KeySpace KeyValueCache::next(std::int64_t layer, std::int64_t which, std::int64_t count) {
  NB_CHECK(size_ + count <= capacity_, "[key_value_cache] {} + {} positions, capacity {}", size_,
           count, capacity_);
  const std::int64_t first = first_value(layer, which) + size_ * shape_.head_dim;
  kernels::KeySpace space = {.stride = shape_.head_dim,
                             .head_stride = capacity_ * shape_.head_dim,
                             .head_dim = shape_.head_dim};
  if (fp32_ != nullptr) space.fp32 = fp32_ + first;
  if (halves_ != nullptr) space.halves = halves_ + first;
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

constexpr std::size_t kRowsAtOnce = 16;
constexpr std::int64_t kFewRows = 2;  // of one chunk; more than that follow one another in memory

// Where the rows of a chunk go.
struct ChunkSpace {
  std::int64_t first_row;
  bool is_kept;
  kernels::KeySpace keys, values;
};

// body(chunk, first row, count) for the parts of the rows [row, end), which belong to chunks
// chunk_of[row] ….
template <class Body>
void each_part(std::span<const std::size_t> chunk_of, std::size_t row, std::size_t end,
               const Body& body) {
  while (row < end) {
    std::size_t next = row + 1;
    while (next < end && chunk_of[next] == chunk_of[row]) ++next;
    body(chunk_of[row], static_cast<std::int64_t>(row), static_cast<std::int64_t>(next - row));
    row = next;
  }
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
  const MatmulPolicy policy = device.numerics().matmul();
  static_cast<void>(device.run(desc, [&] {
    std::vector<ChunkSpace> spaces;
    std::vector<std::size_t> chunk_of;  // of each row
    for (const Chunk& chunk : chunks) {
      const std::int64_t count = std::ssize(chunk.tokens);
      ChunkSpace& space = spaces.emplace_back();
      space.first_row = std::ssize(chunk_of);
      space.is_kept = chunk.own != nullptr;
      if (space.is_kept) {
        space.keys = chunk.own->next_keys(layer, count);
        space.values = chunk.own->next_values(layer, count);
      }
      chunk_of.resize(chunk_of.size() + chunk.tokens.size(), spaces.size() - 1);
    }
    parallel_chunks(chunk_of.size(), kRowsAtOnce, [&](std::size_t begin, std::size_t end) {
      each_part(chunk_of, begin, end, [&](std::size_t chunk, std::int64_t row, std::int64_t count) {
        const ChunkSpace& space = spaces[chunk];
        if (!space.is_kept || count > kFewRows) return;
        const std::int64_t done = row - space.first_row, width = k.shape().last();
        kernels::fetch_to_write(space.keys.behind(done), count, width);
        kernels::fetch_to_write(space.values.behind(done), count, width);
      });
      each_part(chunk_of, begin, end, [&](std::size_t chunk, std::int64_t row, std::int64_t count) {
        const ChunkSpace& space = spaces[chunk];
        if (!space.is_kept) return;
        const std::int64_t done = row - space.first_row;
        kernels::store_keys(row_block(k.matrix(), row, count), space.keys.behind(done), policy);
        kernels::store_keys(row_block(v.matrix(), row, count), space.values.behind(done), policy);
      });
    });
  }));
}

}  // namespace ops
}  // namespace nb
