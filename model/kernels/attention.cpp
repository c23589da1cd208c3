#include "model/kernels/attention.hpp"

#include <algorithm>

#include "harness/base/parallel.hpp"
#include "model/kernels/attention_head.hpp"
#include "model/kernels/attention_shape.hpp"

namespace nb::kernels {
namespace {

constexpr std::int64_t kQueryBlock = 32;  // a multiple of every level's width
constexpr std::int64_t kFewestTasks = 16;

float* at(std::span<float> values, std::int64_t index) {
  return values.empty() ? nullptr : values.data() + index;
}

}  // namespace

void attention(ConstMatrix q, ConstMatrix k, ConstMatrix v, Matrix out, const AttentionSaved& saved,
               const AttentionShape& shape, const MatmulPolicy& policy) {
  check_attention("attention", q, k, v, out, shape, policy);
  if (!saved.row_max.empty()) check_saved("attention", saved.row_max.size(), shape);
  if (!saved.row_sum.empty()) check_saved("attention", saved.row_sum.size(), shape);
  const std::int64_t heads = shape.batch * shape.kv_heads;
  if (heads == 0 || shape.queries == 0) return;
  // Few heads: the queries of a head are cut too, by shape.
  const std::int64_t blocks = (shape.queries + kQueryBlock - 1) / kQueryBlock;
  const std::int64_t cuts = std::min(blocks, (kFewestTasks + heads - 1) / heads);
  const std::int64_t rows_per_cut = (blocks + cuts - 1) / cuts * kQueryBlock;
  const std::int64_t dim = shape.head_dim, group = group_size(shape);
  const float scale = score_scale(shape);
  parallel_for(static_cast<std::size_t>(heads * cuts), 1, [&](std::size_t task) {
    const AttentionFormat format(policy);
    const std::int64_t sequence = static_cast<std::int64_t>(task) / cuts / shape.kv_heads;
    const std::int64_t kv = static_cast<std::int64_t>(task) / cuts % shape.kv_heads;
    // Later cuts see more keys: the last one begins first.
    const std::int64_t cut = cuts - 1 - static_cast<std::int64_t>(task) % cuts;
    const std::int64_t first = cut * rows_per_cut;
    if (first >= shape.queries) return;
    const std::int64_t rows = std::min(rows_per_cut, shape.queries - first);
    const std::int64_t keys = shape.first_position + first + rows;
    const ConstMatrix k_head = head_of(k, key_rows(shape), keys, sequence, kv, dim);
    const ConstMatrix v_head = head_of(v, key_rows(shape), keys, sequence, kv, dim);
    const auto queries = [&](auto m, std::int64_t h) {
      return row_block(head_of(m, shape.queries, shape.queries, sequence, h, dim), first, rows);
    };
    HeadKeys packed(format, keys, dim);
    packed.append(k_head, v_head);
    for (std::int64_t h = kv * group; h < (kv + 1) * group; ++h) {
      const std::int64_t row = (sequence * shape.heads + h) * shape.queries + first;
      const QueryRows of_head = {queries(q, h), queries(out, h), shape.first_position + first,
                                 at(saved.row_max, row), at(saved.row_sum, row)};
      // A masked product of zero and something not finite would be seen.
      if (packed.finite()) {
        packed.attend(of_head, scale);
      } else {
        attend_by_definition(of_head, k_head, v_head, scale, policy);
      }
    }
  });
}

}  // namespace nb::kernels
