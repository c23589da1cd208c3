#include <algorithm>

#include "harness/base/parallel.hpp"
#include "model/kernels/attention.hpp"
#include "model/kernels/attention_shape.hpp"
#include "model/kernels/scratch.hpp"

namespace nb::kernels {
namespace {

void check_sequence(std::size_t index, const CachedSequence& s, ConstMatrix q,
                    const CachedShape& shape) {
  NB_CHECK(s.queries >= 0 && s.first_row >= 0 && s.first_row + s.queries <= q.rows &&
               s.first_position >= 0,
           "[attention_cached] sequence {}: rows {} + {} of {}, first position {}", index,
           s.first_row, s.queries, q.rows, s.first_position);
  std::int64_t rows = 0;
  for (const KeySegment& segment : s.segments) {
    NB_CHECK(segment.k.cols == shape.kv_heads * shape.head_dim &&
                 segment.v.cols == segment.k.cols && segment.v.rows == segment.k.rows,
             "[attention_cached] sequence {}: k is ({},{}), v ({},{}), the shape says {} columns",
             index, segment.k.rows, segment.k.cols, segment.v.rows, segment.v.cols,
             shape.kv_heads * shape.head_dim);
    rows += segment.k.rows;
  }
  NB_CHECK(s.queries == 0 || rows >= s.first_position + s.queries,
           "[attention_cached] sequence {}: {} cached keys, position {} needs them all", index,
           rows, s.first_position + s.queries - 1);
}

// The first `keys` rows of one head, side by side.
void gather(const CachedSequence& s, std::int64_t keys, std::int64_t head, std::int64_t dim,
            ConstMatrix KeySegment::*which, float* out) {
  std::int64_t done = 0;
  for (const KeySegment& segment : s.segments) {
    const ConstMatrix part = column_block(segment.*which, head * dim, dim);
    for (std::int64_t j = 0; j < part.rows && done < keys; ++j, ++done) {
      std::copy(part.row(j), part.row(j) + dim, out + done * dim);
    }
  }
}

}  // namespace

void attention_cached(ConstMatrix q, Matrix out, std::span<const CachedSequence> sequences,
                      const CachedShape& shape, const MatmulPolicy& policy) {
  NB_CHECK(shape.heads > 0 && shape.kv_heads > 0 && shape.heads % shape.kv_heads == 0,
           "[attention_cached] {} key heads do not divide {} heads", shape.kv_heads, shape.heads);
  NB_CHECK(q.cols == shape.heads * shape.head_dim && out.rows == q.rows && out.cols == q.cols,
           "[attention_cached] q is ({},{}), out ({},{}), the shape says {} columns", q.rows,
           q.cols, out.rows, out.cols, shape.heads * shape.head_dim);
  for (std::size_t i = 0; i < sequences.size(); ++i) {
    check_sequence(i, sequences[i], q, shape);
  }
  const auto kv_heads = static_cast<std::size_t>(shape.kv_heads);
  const std::int64_t dim = shape.head_dim, group = shape.heads / shape.kv_heads;
  parallel_for(sequences.size() * kv_heads, 1, [&](std::size_t task) {
    const CachedSequence& s = sequences[task / kv_heads];
    if (s.queries == 0) return;
    const auto kv = static_cast<std::int64_t>(task % kv_heads);
    const std::int64_t keys = s.first_position + s.queries;
    const Scratch k(static_cast<std::size_t>(keys * dim) * 4);
    const Scratch v(static_cast<std::size_t>(keys * dim) * 4);
    gather(s, keys, kv, dim, &KeySegment::k, k.floats());
    gather(s, keys, kv, dim, &KeySegment::v, v.floats());
    const auto heads = [&](auto m) {
      return column_block(row_block(m, s.first_row, s.queries), kv * group * dim, group * dim);
    };
    attention(heads(q), {k.floats(), keys, dim, dim}, {v.floats(), keys, dim, dim}, heads(out), {},
              {.batch = 1,
               .queries = s.queries,
               .keys = keys,
               .heads = group,
               .kv_heads = 1,
               .head_dim = dim,
               .first_position = s.first_position,
               .scale = shape.scale},
              policy);
  });
}

}  // namespace nb::kernels
