#include "model/ops/attention.hpp"

#include <utility>
#include <vector>

#include "harness/base/check.hpp"
#include "model/ops/result.hpp"

namespace nb::ops {
namespace {

void check_shapes(const Tensor& q, const Tensor& k, const Tensor& v, const HeadShape& shape,
                  std::string_view label) {
  const Shape wide = {shape.rows(), shape.heads * shape.head_dim};
  const Shape narrow = {shape.rows(), shape.kv_heads * shape.head_dim};
  NB_CHECK(q.shape() == wide && k.shape() == narrow && v.shape() == narrow,
           "[attention] {}: q {}, k {}, v {}; expected {} and {}", label, q.shape().text(),
           k.shape().text(), v.shape().text(), wide.text(), narrow.text());
}

OpDesc describe(OpKind kind, const HeadShape& shape, std::string_view label) {
  return {.kind = kind,
          .label = label,
          .batch = shape.batch,
          .time = shape.time,
          .heads = shape.heads,
          .kv_heads = shape.kv_heads,
          .head_dim = shape.head_dim,
          .window = shape.window};
}

kernels::AttentionShape kernel_shape(const HeadShape& shape) {
  return {.batch = shape.batch,
          .queries = shape.time,
          .keys = shape.time,
          .heads = shape.heads,
          .kv_heads = shape.kv_heads,
          .head_dim = shape.head_dim,
          .window = shape.window};
}

Tape::Gradients attention_backward(const Tensor& dy, const Tensor& q, const Tensor& k,
                                   const Tensor& v, const Tensor& y, const HeadShape& shape,
                                   const host::Values& row_max, const host::Values& row_sum,
                                   std::string_view label, SavedBlocks saved) {
  NB_CHECK(dy.shape() == q.shape(), "[attention_backward] {}: dy {}, q {}", label,
           dy.shape().text(), q.shape().text());
  Device& device = dy.device();
  Tape::Gradients d = {result(device, q.shape(), "dq"), result(device, k.shape(), "dk"),
                       result(device, v.shape(), "dv")};
  OpDesc desc = describe(OpKind::kAttentionBackward, shape, label);
  desc.inputs = {&dy};
  desc.output = &d[0];
  host::run_backward(device, desc, std::move(saved),
                     host::AttentionBackward{.dy = dy.values(),
                                             .q = q.values(),
                                             .k = k.values(),
                                             .v = v.values(),
                                             .y = y.values(),
                                             .row_max = row_max,
                                             .row_sum = row_sum,
                                             .dq = d[0].values(),
                                             .dk = d[1].values(),
                                             .dv = d[2].values(),
                                             .shape = kernel_shape(shape)});
  return d;
}

}  // namespace

Tensor attention(const Tensor& q, const Tensor& k, const Tensor& v, const HeadShape& shape,
                 std::string_view label) {
  check_shapes(q, k, v, shape, label);
  Device& device = q.device();
  Tensor y = result(device, q.shape(), label);
  const std::int64_t rows = shape.rows() * shape.heads;
  const host::Values row_max = host_rows(device, rows), row_sum = host_rows(device, rows);
  OpDesc desc = describe(OpKind::kAttention, shape, label);
  desc.inputs = {&q, &k, &v};
  forward(desc, y,
          host::Attention{.q = q.values(),
                          .k = k.values(),
                          .v = v.values(),
                          .y = y.values(),
                          .row_max = row_max,
                          .row_sum = row_sum,
                          .shape = kernel_shape(shape)},
          {&q, &k, &v}, [&] {
            return [q = q.values_only(), k = k.values_only(), v = v.values_only(),
                    y = y.values_only(), shape, row_max, row_sum,
                    label = std::string(label)](const Tensor& dy, SavedBlocks saved) {
              return attention_backward(dy, q, k, v, y, shape, row_max, row_sum, label,
                                        std::move(saved));
            };
          });
  return y;
}

namespace {

std::int64_t rows_of(std::span<const Chunk> chunks) {
  std::int64_t rows = 0;
  for (const Chunk& chunk : chunks) rows += std::ssize(chunk.tokens);
  return rows;
}

// Neighbours of one chunk among the rows of q.
struct QueryRun {
  std::size_t chunk = 0;
  std::int64_t first_row = 0;  // of q
  std::int64_t count = 0;
  std::int64_t first_position = 0;
};

std::vector<QueryRun> all_queries(std::span<const Chunk> chunks) {
  std::vector<QueryRun> runs;
  runs.reserve(chunks.size());
  std::int64_t row = 0;
  for (std::size_t i = 0; i < chunks.size(); ++i) {
    const std::int64_t count = std::ssize(chunks[i].tokens);
    runs.push_back({i, row, count, chunks[i].first_position});
    row += count;
  }
  return runs;
}

std::vector<QueryRun> queries_at(std::span<const std::int64_t> rows,
                                 std::span<const Chunk> chunks) {
  std::vector<QueryRun> runs;
  std::size_t chunk = 0;
  std::int64_t begin = 0;  // of that chunk
  for (std::size_t i = 0; i < rows.size(); ++i) {
    bool continues = i > 0 && rows[i] == rows[i - 1] + 1;
    for (; rows[i] >= begin + std::ssize(chunks[chunk].tokens); ++chunk, continues = false)
      begin += std::ssize(chunks[chunk].tokens);
    if (!continues)
      runs.push_back(
          {chunk, static_cast<std::int64_t>(i), 0, chunks[chunk].first_position + rows[i] - begin});
    ++runs.back().count;
  }
  return runs;
}

std::shared_ptr<host::CachedKeys> cached_keys(std::span<const QueryRun> queries,
                                              const CachedBatch& batch,
                                              const kernels::CachedShape& shape) {
  auto keys = std::make_shared<host::CachedKeys>();
  keys->shape = shape;
  std::size_t total = 0;
  for (const Chunk& chunk : batch.chunks) total += chunk.prefix.size() + 1;
  keys->segments.reserve(total);  // the sequences point into it
  keys->caches.reserve(total);
  const auto push = [&](const KeyValueCache& cache, std::int64_t pending) {
    if (cache.size() + pending == 0) return;
    keys->segments.push_back(cache.segment(batch.layer, pending));
    keys->caches.push_back(cache.memory());
  };
  std::vector<std::span<const kernels::KeySegment>> of_chunk;
  of_chunk.reserve(batch.chunks.size());
  std::int64_t row = 0;
  for (const Chunk& chunk : batch.chunks) {
    const std::int64_t count = std::ssize(chunk.tokens);
    const std::size_t first = keys->segments.size();
    for (const auto& cache : chunk.prefix) push(*cache, 0);
    if (chunk.own != nullptr) {
      push(*chunk.own, count);
    } else {
      keys->own_rows.push_back({keys->segments.size(), row, count});
      keys->segments.emplace_back();
    }
    of_chunk.push_back(std::span(keys->segments).subspan(first));
    row += count;
  }
  keys->sequences.reserve(queries.size());
  for (const QueryRun& run : queries)
    keys->sequences.push_back({.first_row = run.first_row,
                               .queries = run.count,
                               .first_position = run.first_position,
                               .segments = of_chunk[run.chunk]});
  return keys;
}

}  // namespace

void append_keys_values(const Tensor& k, const Tensor& v, std::int64_t layer,
                        std::span<const Chunk> chunks, std::string_view label) {
  NB_CHECK(k.shape() == v.shape(), "[append_keys_values] {}: k {}, v {}", label, k.shape().text(),
           v.shape().text());
  std::int64_t row = 0, kept = 0;
  for (const Chunk& chunk : chunks) {
    row += std::ssize(chunk.tokens);
    if (chunk.own == nullptr) continue;
    kept += std::ssize(chunk.tokens);
    NB_CHECK(chunk.own->shape().width == k.shape().last(),
             "[append_keys_values] {}: k {}, cache of width {}", label, k.shape().text(),
             chunk.own->shape().width);
  }
  NB_CHECK(k.shape().leading() == row, "[append_keys_values] {}: k {}, chunks of {} tokens", label,
           k.shape().text(), row);
  if (kept == 0) return;
  auto write = std::make_shared<host::CacheWrite>();
  row = 0;
  for (const Chunk& chunk : chunks) {
    const std::int64_t count = std::ssize(chunk.tokens);
    if (chunk.own != nullptr) {
      write->runs.push_back(
          {row, count, chunk.own->next_keys(layer, count), chunk.own->next_values(layer, count)});
      write->caches.push_back(chunk.own->memory());
    }
    row += count;
  }
  without_gradient(k.device(),
                   {.kind = OpKind::kKvCacheAppend,
                    .label = label,
                    .batch = 1,
                    .time = kept,
                    .kv_heads = 1,
                    .head_dim = k.shape().last(),
                    .inputs = {&k, &v}},
                   host::KvCacheAppend{k.values(), v.values(), std::move(write)});
}

Tensor attention_cached(const Tensor& q, const Tensor& k, const Tensor& v, const CachedBatch& batch,
                        const kernels::CachedShape& shape, std::string_view label) {
  const std::int64_t rows = rows_of(batch.chunks);
  const Shape narrow = {rows, shape.kv_heads * shape.head_dim};
  const Shape wide = {batch.rows ? std::ssize(*batch.rows) : rows, shape.heads * shape.head_dim};
  NB_CHECK(q.shape() == wide && k.shape() == narrow && v.shape() == narrow,
           "[attention_cached] {}: q {}, k {}, v {}; expected {} and {}", label, q.shape().text(),
           k.shape().text(), v.shape().text(), wide.text(), narrow.text());
  NB_CHECK(!batch.rows || batch.rows->empty() || batch.rows->back() < rows,
           "[attention_cached] {}: row {} of {}", label, batch.rows->back(), rows);
  const std::vector<QueryRun> queries =
      batch.rows ? queries_at(*batch.rows, batch.chunks) : all_queries(batch.chunks);
  OpDesc desc = {.kind = OpKind::kAttention,
                 .label = label,
                 .batch = 1,
                 .heads = shape.heads,
                 .kv_heads = shape.kv_heads,
                 .head_dim = shape.head_dim,
                 .window = shape.window};
  for (const QueryRun& run : queries) {
    const std::int64_t keys = run.first_position + run.count;
    desc.time += run.count;
    desc.key_time += visible_keys(run.count, keys, shape.window);
    desc.pairs += visible_pairs(run.count, keys, shape.window);
    desc.scored_pairs += visible_pairs(run.count, keys, 0);
  }
  Device& device = q.device();
  Tensor y = result(device, q.shape(), label);
  desc.output = &y;
  std::shared_ptr<host::CachedKeys> keys;
  if (device.executes()) keys = cached_keys(queries, batch, shape);
  without_gradient(
      device, desc,
      host::CachedAttention{q.values(), k.values(), v.values(), y.values(), std::move(keys)});
  return y;
}

}  // namespace nb::ops
