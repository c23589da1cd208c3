#include "model/kernels/attention.hpp"

#include <algorithm>

#include "harness/base/parallel.hpp"
#include "model/kernels/attention_shape.hpp"
#include "model/kernels/inner/dispatch.hpp"
#include "model/kernels/panels.hpp"
#include "model/kernels/reference/attention.hpp"
#include "model/kernels/scratch.hpp"

namespace nb::kernels {
namespace {

constexpr std::int64_t kQueryBlock =
    48;  // a multiple of every level's tile rows; scores of a block stay in L2
constexpr std::int64_t kFewestTasks = 16;

struct Head {
  ConstMatrix q, k, v;  // queries (rows from first_query on) and keys of one head
  Matrix out;
  float* row_max;  // of the first row of q, or null
  float* row_sum;
  std::int64_t first_position;  // of the first row of q
};

class HeadForward {
 public:
  HeadForward(const AttentionShape& shape, const MatmulPolicy& policy)
      : table_(inner::table()),
        format_(input_format(table_, policy.inputs)),
        rounding_(inner::rounding_of(policy.output, policy.fp16_saturates)),
        limit_(finite_limit(policy.inputs)),
        scale_(score_scale(shape)) {}

  // false: a value that is not finite could leak through a masked product; the caller takes the
  // reference.
  bool run(const Head& head) const {
    const std::int64_t keys = head.k.rows, dim = head.k.cols;
    for (std::int64_t j = 0; j < keys; ++j) {
      if (!table_.all_below(head.v.row(j), dim, limit_)) return false;
    }
    const int rows = format_.product->rows, cols = format_.product->cols;
    const std::int64_t dim_steps = panel_steps(format_, dim),
                       key_steps = panel_steps(format_, keys);
    const Scratch k_panels(static_cast<std::size_t>(round_up(keys, cols) * dim_steps) * 4);
    const Scratch v_panels(static_cast<std::size_t>(round_up(dim, cols) * key_steps) * 4);
    pack_panels(format_, {head.k.data, head.k.stride, 1}, keys, dim, cols, k_panels.words());
    pack_panels(format_, {head.v.data, 1, head.v.stride}, dim, keys, cols, v_panels.words());
    const std::int64_t score_stride = round_up(keys, cols), sum_stride = round_up(dim, 16);
    const Scratch q_panels(static_cast<std::size_t>(round_up(kQueryBlock, rows) * dim_steps) * 4);
    const Scratch p_panels(static_cast<std::size_t>(round_up(kQueryBlock, rows) * key_steps) * 4);
    const Scratch scores(static_cast<std::size_t>(kQueryBlock * score_stride) * 4);
    const Scratch sums(static_cast<std::size_t>(kQueryBlock * sum_stride) * 4);
    for (std::int64_t first = 0; first < head.q.rows; first += kQueryBlock) {
      const std::int64_t count = std::min(kQueryBlock, head.q.rows - first);
      const std::int64_t visible = head.first_position + first + count;  // to the last row
      pack_panels(format_, {head.q.row(first), head.q.stride, 1}, count, dim, rows,
                  q_panels.words());
      multiply_panels(format_, count, visible, dim_steps, q_panels.words(), dim_steps * rows,
                      k_panels.words(), dim_steps * cols, scores.floats(), score_stride,
                      inner::kTileStart);
      float max[kQueryBlock], sum[kQueryBlock];
      for (std::int64_t i = 0; i < count; ++i) {
        float* row = scores.floats() + i * score_stride;
        const std::int64_t own = head.first_position + first + i + 1;
        table_.softmax(row, own, scale_, &max[i], &sum[i]);
        std::fill(row + own, row + visible, 0.0f);
      }
      const std::int64_t steps = panel_steps(format_, visible);
      pack_panels(format_, {scores.floats(), score_stride, 1}, count, visible, rows,
                  p_panels.words());
      multiply_panels(format_, count, dim, steps, p_panels.words(), steps * rows, v_panels.words(),
                      key_steps * cols, sums.floats(), sum_stride, inner::kTileStart);
      for (std::int64_t i = 0; i < count; ++i) {
        float* row = sums.floats() + i * sum_stride;
        table_.finish(row, dim, row, inner::kRoundNone, false);
        table_.divide(row, dim, sum[i], head.out.row(first + i), rounding_);
        if (head.row_max != nullptr) head.row_max[first + i] = max[i];
        if (head.row_sum != nullptr) head.row_sum[first + i] = sum[i];
      }
    }
    return true;
  }

 private:
  const inner::Table& table_;
  InputFormat format_;
  int rounding_;
  float limit_;
  float scale_;
};

float* at(std::span<float> values, std::int64_t index) {
  return values.empty() ? nullptr : values.data() + index;
}

}  // namespace

void attention(ConstMatrix q, ConstMatrix k, ConstMatrix v, Matrix out, const AttentionSaved& saved,
               const AttentionShape& shape, const MatmulPolicy& policy) {
  check_attention("attention", q, k, v, out, shape, policy);
  if (!saved.row_max.empty()) check_saved("attention", saved.row_max.size(), shape);
  if (!saved.row_sum.empty()) check_saved("attention", saved.row_sum.size(), shape);
  const std::int64_t heads = shape.batch * shape.heads;
  if (heads == 0 || shape.queries == 0) return;
  // Few heads: the queries of a head are cut too, by shape.
  const std::int64_t blocks = (shape.queries + kQueryBlock - 1) / kQueryBlock;
  const std::int64_t cuts = std::min(blocks, (kFewestTasks + heads - 1) / heads);
  const std::int64_t rows_per_cut = (blocks + cuts - 1) / cuts * kQueryBlock;
  parallel_for(static_cast<std::size_t>(heads * cuts), 1, [&](std::size_t task) {
    const HeadForward forward(shape, policy);
    const std::int64_t index = static_cast<std::int64_t>(task) / cuts;
    const std::int64_t first = static_cast<std::int64_t>(task) % cuts * rows_per_cut;
    if (first >= shape.queries) return;
    const std::int64_t rows = std::min(rows_per_cut, shape.queries - first);
    const std::int64_t sequence = index / shape.heads, h = index % shape.heads;
    const std::int64_t kv = h / group_size(shape), keys = shape.first_position + first + rows;
    const std::int64_t dim = shape.head_dim;
    const ConstMatrix q_head = head_of(q, shape.queries, shape.queries, sequence, h, dim);
    const Matrix out_head = head_of(out, shape.queries, shape.queries, sequence, h, dim);
    const Head head = {row_block(q_head, first, rows),
                       head_of(k, key_rows(shape), keys, sequence, kv, dim),
                       head_of(v, key_rows(shape), keys, sequence, kv, dim),
                       row_block(out_head, first, rows),
                       at(saved.row_max, index * shape.queries + first),
                       at(saved.row_sum, index * shape.queries + first),
                       shape.first_position + first};
    if (forward.run(head)) return;
    const auto part = [&](std::span<float> all) {
      return all.empty() ? all
                         : all.subspan(static_cast<std::size_t>(index * shape.queries + first),
                                       static_cast<std::size_t>(rows));
    };
    const AttentionShape one = {.batch = 1,
                                .queries = rows,
                                .keys = keys,
                                .heads = 1,
                                .kv_heads = 1,
                                .head_dim = dim,
                                .first_position = head.first_position,
                                .key_rows = keys,
                                .scale = score_scale(shape)};
    reference::attention(head.q, head.k, head.v, head.out,
                         {part(saved.row_max), part(saved.row_sum)}, one, policy);
  });
}

}  // namespace nb::kernels
