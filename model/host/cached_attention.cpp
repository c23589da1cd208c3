#include "model/host/cached_attention.hpp"

#include <algorithm>

#include "model/kernels/scratch.hpp"

namespace nb::host {
namespace {

void formats_of_cached_attention(Plan& plan, const Step& step) {
  for (const std::int32_t i : step.ops) {
    for (const Values& in : plan.op(i).in) plan.needs_fp32(in);
    for (const Values& out : plan.op(i).out) plan.needs_fp32(out);
  }
}

void append(const Op& op) {
  kernels::store_keys(op.in[0]->matrix(), op.in[1]->matrix(), op.cache_write->runs,
                      op.numerics->matmul());
}

// With the rows of k and v that are in no cache.
CachedKeys& all_keys(const Op& op) {
  CachedKeys& keys = *op.cached_keys;
  for (const CachedKeys::OwnRows& own : keys.own_rows)
    keys.segments[own.segment] = {row_block(op.in[1]->matrix(), own.first_row, own.rows),
                                  row_block(op.in[2]->matrix(), own.first_row, own.rows)};
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

void attend_by_sequence(Plan& plan, const Step& step) {
  const Op& op = plan.op(step.ops[0]);
  const CachedKeys& all = all_keys(op);
  const kernels::CachedShape& shape = all.shape;
  const ConstMatrix q = op.in[0]->matrix();
  const Matrix y = plan.make_fp32(op.out[0]);
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

void attend_at_once(Plan& plan, const Step& step) {
  if (step.ops.size() > 1) append(plan.op(step.ops[0]));
  const Op& op = plan.op(step.ops.back());
  const CachedKeys& all = all_keys(op);
  kernels::attention_cached(op.in[0]->matrix(), plan.make_fp32(op.out[0]), all.sequences, all.shape,
                            op.numerics->matmul());
}

bool is_on_caches(const Op& op) { return op.cached_keys != nullptr || op.cache_write != nullptr; }

}  // namespace

Step append_keys_values(std::int32_t index) {
  return {{index},
          [](Plan& plan, const Step& step) { append(plan.op(step.ops[0])); },
          formats_of_cached_attention};
}

Step attention_by_sequence(std::int32_t index) {
  return {{index}, attend_by_sequence, formats_of_cached_attention};
}

bool match_cached_attention(Plan& plan, std::int32_t i) {
  if (plan.op(i).cached_keys == nullptr) return false;
  Step step = {{i}, attend_at_once, formats_of_cached_attention};
  std::int32_t before = i - 1;  // nobody may read or write a cache in between
  while (before >= 0 && !is_on_caches(plan.op(before))) --before;
  if (before >= 0 && plan.op(before).cache_write != nullptr && plan.is_free(before) &&
      plan.op(before).in[0] == plan.op(i).in[1] && plan.op(before).in[1] == plan.op(i).in[2])
    step.ops.insert(step.ops.begin(), before);
  plan.take(std::move(step));
  return true;
}

}  // namespace nb::host
