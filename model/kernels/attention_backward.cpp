#include <algorithm>

#include "harness/base/parallel.hpp"
#include "model/kernels/attention.hpp"
#include "model/kernels/attention_shape.hpp"
#include "model/kernels/inner/dispatch.hpp"
#include "model/kernels/panels.hpp"
#include "model/kernels/reference/attention.hpp"
#include "model/kernels/scratch.hpp"

namespace nb::kernels {
namespace {

constexpr std::int64_t kQueryBlock =
    48;  // even, so that blocks keep the pairs of the bf16 chain over queries

// One query head: what it reads, and where dq goes.
struct QueryHead {
  ConstMatrix dout, q, out;
  const float* row_max;
  const float* row_sum;
  Matrix dq;
};

// The backward of one key head and the query heads that share it.
class GroupBackward {
 public:
  GroupBackward(const AttentionShape& shape, const MatmulPolicy& policy, ConstMatrix k,
                ConstMatrix v)
      : table_(inner::table()),
        format_(input_format(table_, policy.inputs)),
        rounding_(inner::rounding_of(policy.output, policy.fp16_saturates)),
        scale_(score_scale(shape)),
        time_(shape.keys),
        dim_(shape.head_dim),
        tile_rows_(format_.product->rows),
        tile_cols_(format_.product->cols),
        dim_steps_(panel_steps(format_, dim_)),
        key_steps_(panel_steps(format_, time_)),
        score_stride_(round_up(time_, tile_cols_)),
        sum_stride_(round_up(dim_, 16)),
        k_by_key_(bytes(round_up(time_, tile_cols_) * dim_steps_)),
        v_by_key_(bytes(round_up(time_, tile_cols_) * dim_steps_)),
        k_by_dim_(bytes(round_up(dim_, tile_cols_) * key_steps_)),
        row_panels_(bytes(round_up(kQueryBlock, tile_rows_) * std::max(dim_steps_, key_steps_))),
        key_panels_(bytes(round_up(time_, tile_rows_) * panel_steps(format_, kQueryBlock))),
        dim_panels_(bytes(round_up(dim_, tile_cols_) * panel_steps(format_, kQueryBlock))),
        scores_(bytes(kQueryBlock * score_stride_)),
        gradients_(bytes(kQueryBlock * score_stride_)),
        dq_sums_(bytes(kQueryBlock * sum_stride_)),
        dk_sums_(bytes(time_ * sum_stride_)),
        dv_sums_(bytes(time_ * sum_stride_)),
        dk_total_(bytes(time_ * dim_)),
        dv_total_(bytes(time_ * dim_)) {
    pack_panels(format_, {k.data, k.stride, 1}, time_, dim_, tile_cols_, k_by_key_.words());
    pack_panels(format_, {v.data, v.stride, 1}, time_, dim_, tile_cols_, v_by_key_.words());
    pack_panels(format_, {k.data, 1, k.stride}, dim_, time_, tile_cols_, k_by_dim_.words());
  }

  void add_head(const QueryHead& head, bool is_first) const {
    table_.fill(dk_sums_.floats(), time_ * sum_stride_, 0.0f);
    table_.fill(dv_sums_.floats(), time_ * sum_stride_, 0.0f);
    for (std::int64_t first = 0; first < time_; first += kQueryBlock) {
      run_block(head, first, std::min(kQueryBlock, time_ - first));
    }
    add_sums(dk_sums_.floats(), dk_total_.floats(), is_first);
    add_sums(dv_sums_.floats(), dv_total_.floats(), is_first);
  }

  void finish(Matrix dk, Matrix dv) const {
    for (std::int64_t j = 0; j < time_; ++j) {
      float* row = dk_total_.floats() + j * dim_;
      table_.scale(row, dim_, scale_, rounding_);
      std::copy(row, row + dim_, dk.row(j));
      table_.cast(dv_total_.floats() + j * dim_, dim_, dv.row(j), rounding_);
    }
  }

 private:
  static std::size_t bytes(std::int64_t words) { return static_cast<std::size_t>(words) * 4; }

  // One chain's end (+0), then the heads of the group in order.
  void add_sums(float* sums, float* total, bool is_first) const {
    for (std::int64_t j = 0; j < time_; ++j) {
      table_.finish(sums + j * sum_stride_, dim_, total + j * dim_, inner::kRoundNone, !is_first);
    }
  }

  // out (count, visible) = chain over D of rows of `a` and the packed keys.
  void by_key(ConstMatrix a, std::int64_t first, std::int64_t count, std::int64_t visible,
              const Scratch& keys, float* out) const {
    pack_panels(format_, {a.row(first), a.stride, 1}, count, dim_, tile_rows_, row_panels_.words());
    multiply_panels(format_, count, visible, dim_steps_, row_panels_.words(),
                    dim_steps_ * tile_rows_, keys.words(), dim_steps_ * tile_cols_, out,
                    score_stride_, inner::kTileStart);
  }

  // sums (visible, D) continue over the queries of this block: weightsᵀ · rows of b.
  void over_queries(const float* weights, ConstMatrix b, std::int64_t first, std::int64_t count,
                    std::int64_t visible, float* sums) const {
    const std::int64_t steps = panel_steps(format_, count);
    pack_panels(format_, {weights, 1, score_stride_}, visible, count, tile_rows_,
                key_panels_.words());
    pack_panels(format_, {b.row(first), 1, b.stride}, dim_, count, tile_cols_, dim_panels_.words());
    multiply_panels(format_, visible, dim_, steps, key_panels_.words(), steps * tile_rows_,
                    dim_panels_.words(), steps * tile_cols_, sums, sum_stride_,
                    inner::kTileContinue);
  }

  void run_block(const QueryHead& head, std::int64_t first, std::int64_t count) const {
    const std::int64_t visible = first + count;
    float* p = scores_.floats();
    float* ds = gradients_.floats();
    by_key(head.q, first, count, visible, k_by_key_, p);
    by_key(head.dout, first, count, visible, v_by_key_, ds);
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t own = first + i + 1;
      float* p_row = p + i * score_stride_;
      float* ds_row = ds + i * score_stride_;
      const float delta = table_.dot(head.dout.row(first + i), head.out.row(first + i), dim_);
      table_.probabilities(p_row, own, scale_, head.row_max[first + i], head.row_sum[first + i]);
      table_.score_gradient(p_row, ds_row, own, delta);
      std::fill(p_row + own, p_row + visible, 0.0f);
      std::fill(ds_row + own, ds_row + visible, 0.0f);
    }
    over_queries(p, head.dout, first, count, visible, dv_sums_.floats());
    over_queries(ds, head.q, first, count, visible, dk_sums_.floats());
    const std::int64_t steps = panel_steps(format_, visible);
    pack_panels(format_, {ds, score_stride_, 1}, count, visible, tile_rows_, row_panels_.words());
    multiply_panels(format_, count, dim_, steps, row_panels_.words(), steps * tile_rows_,
                    k_by_dim_.words(), key_steps_ * tile_cols_, dq_sums_.floats(), sum_stride_,
                    inner::kTileStart);
    for (std::int64_t i = 0; i < count; ++i) {
      float* row = dq_sums_.floats() + i * sum_stride_;
      table_.finish(row, dim_, row, inner::kRoundNone, false);
      table_.scale(row, dim_, scale_, rounding_);
      std::copy(row, row + dim_, head.dq.row(first + i));
    }
  }

  const inner::Table& table_;
  InputFormat format_;
  int rounding_;
  float scale_;
  std::int64_t time_, dim_;
  int tile_rows_, tile_cols_;
  std::int64_t dim_steps_, key_steps_, score_stride_, sum_stride_;
  Scratch k_by_key_, v_by_key_, k_by_dim_;                    // B panels
  Scratch row_panels_, key_panels_, dim_panels_;              // panels of one query block
  Scratch scores_, gradients_, dq_sums_, dk_sums_, dv_sums_;  // sums of one head
  Scratch dk_total_, dv_total_;                               // of the group
};

bool all_below(const inner::Table& table, ConstMatrix m, float limit) {
  for (std::int64_t i = 0; i < m.rows; ++i) {
    if (!table.all_below(m.row(i), m.cols, limit)) return false;
  }
  return true;
}

}  // namespace

void attention_backward(ConstMatrix dout, ConstMatrix q, ConstMatrix k, ConstMatrix v,
                        ConstMatrix out, std::span<const float> row_max,
                        std::span<const float> row_sum, Matrix dq, Matrix dk, Matrix dv,
                        const AttentionShape& shape, const MatmulPolicy& policy) {
  check_attention("attention_backward", q, k, v, out, shape, policy);
  check_attention("attention_backward", dq, dk, dv, dout, shape, policy);
  check_saved("attention_backward", row_max.size(), shape);
  check_saved("attention_backward", row_sum.size(), shape);
  NB_CHECK(shape.first_position == 0 && key_rows(shape) == shape.keys,
           "[attention_backward] a KV cache has no backward: first position {}, key rows {}",
           shape.first_position, key_rows(shape));
  if (shape.queries == 0) return;
  const std::int64_t time = shape.queries, dim = shape.head_dim, group = group_size(shape);
  const float limit = finite_limit(policy.inputs);
  parallel_for(static_cast<std::size_t>(shape.batch * shape.kv_heads), 1, [&](std::size_t task) {
    const inner::Table& table = inner::table();
    const std::int64_t sequence = static_cast<std::int64_t>(task) / shape.kv_heads;
    const std::int64_t kv = static_cast<std::int64_t>(task) % shape.kv_heads;
    // All query heads of the group side by side.
    const auto wide = [&](auto m) {
      return column_block(row_block(m, sequence * time, time), kv * group * dim, group * dim);
    };
    const auto narrow = [&](auto m) { return head_of(m, time, time, sequence, kv, dim); };
    const std::size_t saved =
        static_cast<std::size_t>((sequence * shape.heads + kv * group) * time);
    if (!all_below(table, wide(q), limit) || !all_below(table, narrow(k), limit) ||
        !all_below(table, narrow(v), limit) || !all_below(table, wide(dout), limit)) {
      // A masked product of zero and something not finite would be seen: take the definition.
      AttentionShape one = shape;
      one.batch = 1, one.heads = group, one.kv_heads = 1;
      const auto count = static_cast<std::size_t>(group * time);
      return reference::attention_backward(
          wide(dout), wide(q), narrow(k), narrow(v), wide(out), row_max.subspan(saved, count),
          row_sum.subspan(saved, count), wide(dq), narrow(dk), narrow(dv), one, policy);
    }
    const GroupBackward backward(shape, policy, narrow(k), narrow(v));
    for (std::int64_t h = 0; h < group; ++h) {
      const auto head = [&](auto m) { return column_block(wide(m), h * dim, dim); };
      const std::size_t at = saved + static_cast<std::size_t>(h * time);
      backward.add_head(
          {head(dout), head(q), head(out), row_max.data() + at, row_sum.data() + at, head(dq)},
          h == 0);
    }
    backward.finish(narrow(dk), narrow(dv));
  });
}

}  // namespace nb::kernels
