#include "model/kernels/attention.hpp"

#include <algorithm>

#include "harness/base/parallel.hpp"
#include "model/kernels/attention_ahead.hpp"
#include "model/kernels/attention_head.hpp"
#include "model/kernels/attention_shape.hpp"

namespace nb::kernels {
namespace {

constexpr std::int64_t kQueryBlock = 32;  // a multiple of every level's width
constexpr std::int64_t kMinTasks = 16;

// A key head of a sequence and queries [first, first + rows) of the heads that share it.
struct Task {
  std::int64_t sequence, kv, first, rows;
};

float* at(std::span<float> values, std::int64_t index) {
  return values.empty() ? nullptr : values.data() + index;
}

}  // namespace

void attention(const ConstAnyMatrix& q, const ConstAnyMatrix& k, const ConstAnyMatrix& v,
               const AnyMatrix& out, const AttentionSaved& saved, const AttentionShape& shape,
               const MatmulPolicy& policy) {
  check_attention("attention", q, k, v, out, shape, policy);
  if (!saved.row_max.empty()) check_saved("attention", saved.row_max.size(), shape);
  if (!saved.row_sum.empty()) check_saved("attention", saved.row_sum.size(), shape);
  const std::int64_t heads = shape.batch * shape.kv_heads;
  if (heads == 0 || shape.queries == 0) return;
  // Few heads: the queries of a head are cut too, by shape.
  const std::int64_t blocks = (shape.queries + kQueryBlock - 1) / kQueryBlock;
  const std::int64_t cuts = std::min(blocks, (kMinTasks + heads - 1) / heads);
  const std::int64_t rows_per_cut = (blocks + cuts - 1) / cuts * kQueryBlock;
  const std::int64_t dim = shape.head_dim, group = group_size(shape);
  const float scale = score_scale(shape);
  const auto task_of = [&](std::int64_t index) -> Task {
    const std::int64_t head = index / cuts;
    // Later cuts see more keys: the last one begins first.
    const std::int64_t first = (cuts - 1 - index % cuts) * rows_per_cut;
    const std::int64_t rows = std::clamp<std::int64_t>(shape.queries - first, 0, rows_per_cut);
    return {head / shape.kv_heads, head % shape.kv_heads, first, rows};
  };
  const auto keys_of = [&](const ConstAnyMatrix& m, const Task& t) {
    const std::int64_t keys = std::min(shape.keys, shape.first_position + t.first + t.rows);
    return head_of(m, key_rows(shape), keys, t.sequence, t.kv, dim);
  };
  const auto first_packed = [&](const Task& t) {
    return first_packed_key(shape.first_position + t.first, shape.window);
  };
  const auto packed_of = [&](const ConstAnyMatrix& m, const Task& t) {
    const ConstAnyMatrix keys = keys_of(m, t);
    return row_block(keys, first_packed(t), keys.rows - first_packed(t));
  };
  // h: of the group.
  const auto queries_of = [&](auto m, const Task& t, std::int64_t h) {
    const auto head = head_of(m, shape.queries, shape.queries, t.sequence, t.kv * group + h, dim);
    return row_block(head, t.first, t.rows);
  };
  const auto prefetch_later = [&](RowsAhead& ahead, const Task& t, std::int64_t h,
                                  std::int64_t first, std::int64_t rows) {
    ahead.add({some_rows(queries_of(q, t, h), first, rows),
               some_rows(queries_of(out, t, h), first, rows)});
  };
  parallel_for(static_cast<std::size_t>(heads * cuts), 1, [&](std::size_t index) {
    const AttentionFormat format(policy);
    const Task task = task_of(static_cast<std::int64_t>(index));
    if (task.rows == 0) return;
    const ConstAnyMatrix k_head = keys_of(k, task), v_head = keys_of(v, task);
    const std::int64_t first = first_packed(task), packed_keys = k_head.rows - first;
    HeadKeys packed(format, packed_keys, dim);
    const bool is_chain = sums_are_chains(policy);
    if (is_chain) packed.append(packed_of(k, task), packed_of(v, task));
    const std::int64_t most = packed_keys - task.rows / 2;  // of a query, more or less
    const std::int64_t seen =
        task.rows * (shape.window > 0 ? std::min(most, shape.window + kQueryBlock) : most);
    for (std::int64_t h = 0; h < group; ++h) {
      const std::int64_t row =
          (task.sequence * shape.heads + task.kv * group + h) * shape.queries + task.first;
      QueryRows of_head = {queries_of(q, task, h), queries_of(out, task, h),
                           shape.first_position + task.first, at(saved.row_max, row),
                           at(saved.row_sum, row)};
      // A masked product of zero and something not finite would be seen.
      if (!is_chain || !packed.finite()) {
        attend_by_definition(of_head, k_head, v_head, scale, shape.window, policy);
        continue;
      }
      RowsAhead ahead(format.steps(2 * seen * dim));
      prefetch_later(ahead, task, h, kLeadQueries, task.rows);
      if (h + 1 < group) {
        prefetch_later(ahead, task, h + 1, 0, kLeadQueries);
      } else if (task.first == 0 && static_cast<std::int64_t>(index) + 1 < heads * cuts) {
        const Task next = task_of(static_cast<std::int64_t>(index) + 1);
        ahead.add({packed_of(k, next), packed_of(v, next)});
        prefetch_later(ahead, next, 0, 0, kLeadQueries);
      }
      of_head.position -= first;
      packed.attend(of_head, scale, shape.window, ahead.get());
    }
  });
}

}  // namespace nb::kernels
