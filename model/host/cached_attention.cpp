#include "model/host/cached_attention.hpp"

#include <algorithm>

#include "model/kernels/scratch.hpp"

namespace nb::host {
namespace {

// With the rows of k and v that are in no cache.
CachedKeys& all_keys(const CachedAttention& op) {
  CachedKeys& keys = *op.keys;
  for (const CachedKeys::OwnRows& own : keys.own_rows)
    keys.segments[own.segment] = {row_block(op.k->matrix(), own.first_row, own.rows),
                                  row_block(op.v->matrix(), own.first_row, own.rows)};
  return keys;
}

// The first to.rows rows, of all heads.
void copy_keys(const kernels::CachedSequence& sequence, const kernels::CachedShape& shape,
               kernels::KeyRows kernels::KeySegment::*which, Matrix to) {
  std::int64_t done = 0;
  for (const kernels::KeySegment& segment : sequence.segments) {
    const kernels::KeyRows& from = segment.*which;
    const std::int64_t rows = std::min(from.rows, to.rows - done);
    for (std::int64_t head = 0; head < shape.kv_heads; ++head)
      for (std::int64_t j = 0; j < rows; ++j)
        from.head(head, shape.head_dim).copy_row(j, to.row(done + j) + head * shape.head_dim);
    done += rows;
  }
}

void attend_at_once(Plan& plan, const Step& step) {
  if (step.ops.size() > 1) {
    const Op& write = plan.op(step.ops[0]);
    append_keys_values(write, write.as<KvCacheAppend>());
  }
  const Op& op = plan.op(step.ops.back());
  const auto& operands = op.as<CachedAttention>();
  const CachedKeys& all = all_keys(operands);
  kernels::attention_cached(operands.q->matrix(), plan.make_fp32(operands.y), all.sequences,
                            all.shape, op.numerics->matmul());
}

void formats_of_attention_at_once(Plan& plan, const Step& step) {
  const auto& op = plan.op(step.ops.back()).as<CachedAttention>();
  for (const Values* values : {&op.q, &op.k, &op.v, &op.y}) plan.needs_fp32(*values);
}

}  // namespace

void append_keys_values(const Op& op, const KvCacheAppend& operands) {
  kernels::store_keys(operands.k->matrix(), operands.v->matrix(), operands.write->runs,
                      op.numerics->matmul());
}

void attend_by_sequence(Plan& plan, const Op& op, const CachedAttention& operands) {
  const CachedKeys& all = all_keys(operands);
  const kernels::CachedShape& shape = all.shape;
  const ConstMatrix q = operands.q->matrix();
  const Matrix y = plan.make_fp32(operands.y);
  for (const kernels::CachedSequence& s : all.sequences) {
    const std::int64_t keys = s.first_position + s.queries, cols = shape.kv_heads * shape.head_dim;
    const auto bytes = static_cast<std::size_t>(keys * cols) * sizeof(float);
    const kernels::Scratch k_copy(bytes), v_copy(bytes);
    const Matrix k = matrix(k_copy.floats(), keys, cols), v = matrix(v_copy.floats(), keys, cols);
    copy_keys(s, shape, &kernels::KeySegment::k, k);
    copy_keys(s, shape, &kernels::KeySegment::v, v);
    kernels::attention(row_block(q, s.first_row, s.queries), k, v,
                       row_block(y, s.first_row, s.queries), {},
                       {.batch = 1,
                        .queries = s.queries,
                        .keys = keys,
                        .heads = shape.heads,
                        .kv_heads = shape.kv_heads,
                        .head_dim = shape.head_dim,
                        .first_position = s.first_position,
                        .scale = shape.scale,
                        .window = shape.window},
                       op.numerics->matmul());
  }
}

bool match_cached_attention(Plan& plan, std::int32_t i) {
  if (!plan.op(i).is<CachedAttention>()) return false;
  Step step = {{i}, attend_at_once, formats_of_attention_at_once};
  std::int32_t before = i - 1;  // nobody may read or write a cache in between
  while (before >= 0 && !plan.op(before).is<CachedAttention>() &&
         !plan.op(before).is<KvCacheAppend>())
    --before;
  if (before >= 0 && plan.op(before).is<KvCacheAppend>() && plan.is_free(before)) {
    const auto& write = plan.op(before).as<KvCacheAppend>();
    const auto& op = plan.op(i).as<CachedAttention>();
    if (write.k == op.k && write.v == op.v) step.ops.insert(step.ops.begin(), before);
  }
  plan.take(std::move(step));
  return true;
}

}  // namespace nb::host
