#include <algorithm>

#include "harness/base/parallel.hpp"
#include "model/kernels/attention.hpp"
#include "model/kernels/attention_format.hpp"
#include "model/kernels/attention_shape.hpp"
#include "model/kernels/reference/attention.hpp"
#include "model/kernels/scratch.hpp"

namespace nb::kernels {
namespace {

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
      : format_(policy),
        scale_(score_scale(shape)),
        time_(shape.keys),
        dim_(shape.head_dim),
        width_(format_.tiles.width),
        keys_(format_.padded_keys(time_)),
        dim_words_(format_.words(dim_)),
        sum_stride_(round_up(dim_, 16)),
        span_(std::min(format_.tiles.group * width_, round_up(time_, width_))),
        row_words_(format_.words(span_)),
        panel_columns_(format_.panels(dim_) * width_),
        k_rows_(bytes(keys_ * dim_words_)),
        v_rows_(bytes(keys_ * dim_words_)),
        k_by_dim_(bytes(panel_columns_ * format_.words(time_))),
        q_lanes_(bytes(dim_words_ * width_)),
        dout_lanes_(bytes(dim_words_ * width_)),
        q_by_dim_(bytes(panel_columns_ * row_words_)),
        dout_by_dim_(bytes(panel_columns_ * row_words_)),
        p_(bytes(keys_ * row_words_)),
        ds_(bytes(keys_ * row_words_)),
        weights_(bytes(round_up(keys_, 2) * width_)),
        dq_sums_(bytes(width_ * sum_stride_)),
        dk_sums_(bytes(keys_ * sum_stride_)),
        dv_sums_(bytes(keys_ * sum_stride_)),
        lane_values_(bytes(3 * width_)) {
    format_.rows_of(k, k_rows_.words());
    format_.rows_of(v, v_rows_.words());
    format_.lanes_of_columns(k, k_by_dim_.words());
    finite_ = format_.tiles.finite(k_rows_.words(), keys_ * dim_words_) &&
              format_.tiles.finite(v_rows_.words(), keys_ * dim_words_);
  }

  // Leaves the head's dk and dv as chains (keys, D padded), nothing added. False: an input that is
  // not finite in its format could be seen through masked products; what was written is void.
  bool run(const QueryHead& head) const {
    bool finite = finite_;
    for (std::int64_t first = 0; finite && first < time_; first += span_) {
      finite = run_span(head, first, std::min(span_, time_ - first));
    }
    return finite;
  }
  const float* dk_sums() const { return dk_sums_.floats(); }
  const float* dv_sums() const { return dv_sums_.floats(); }
  std::int64_t sum_stride() const { return sum_stride_; }
  const AttentionFormat& format() const { return format_; }
  float scale() const { return scale_; }

 private:
  static std::size_t bytes(std::int64_t words) { return static_cast<std::size_t>(words) * 4; }

  bool run_span(const QueryHead& head, std::int64_t first, std::int64_t count) const {
    format_.lanes_of_columns(row_block(head.q, first, count), q_by_dim_.words());
    format_.lanes_of_columns(row_block(head.dout, first, count), dout_by_dim_.words());
    const std::int64_t packed = panel_columns_ * format_.words(count);
    if (!format_.tiles.finite(q_by_dim_.words(), packed) ||
        !format_.tiles.finite(dout_by_dim_.words(), packed)) {
      return false;
    }
    for (std::int64_t i = 0; i < count; i += width_) {
      run_block(head, first + i, std::min(width_, count - i), i / format_.tiles.values_per_word);
    }
    over_queries(ds_, q_by_dim_, first, count, dk_sums_.floats());
    over_queries(p_, dout_by_dim_, first, count, dv_sums_.floats());
    return true;
  }

  // dq of a block of queries; p and ds of all keys that it sees, from word `word` of their rows.
  void run_block(const QueryHead& head, std::int64_t first, std::int64_t count,
                 std::int64_t word) const {
    float* max = lane_values_.floats();
    float* sum = max + width_;
    float* delta = sum + width_;
    for (std::int64_t i = 0; i < count; ++i) {
      max[i] = head.row_max[first + i];
      sum[i] = head.row_sum[first + i];
      delta[i] = format_.table.dot(head.dout.row(first + i), head.out.row(first + i), dim_);
    }
    for (std::int64_t i = count; i < width_; ++i) {
      max[i] = delta[i] = 0.0f;
      sum[i] = 1.0f;
    }
    format_.lanes_of_rows(row_block(head.q, first, count), q_lanes_.words());
    format_.lanes_of_rows(row_block(head.dout, first, count), dout_lanes_.words());
    format_.tiles.backward({.q = q_lanes_.words(),
                            .dout = dout_lanes_.words(),
                            .k = k_rows_.words(),
                            .v = v_rows_.words(),
                            .k_by_dim = k_by_dim_.words(),
                            .k_panel = format_.words(time_) * width_,
                            .dim = dim_,
                            .queries = count,
                            .position = first,
                            .scale = scale_,
                            .rounding = format_.input.rounding,
                            .max = max,
                            .sum = sum,
                            .delta = delta,
                            .p = p_.words() + word,
                            .ds = ds_.words() + word,
                            .row_words = row_words_,
                            .weights = weights_.words(),
                            .dq = dq_sums_.floats()});
    format_.tiles.scaled(dq_sums_.floats(), sum_stride_, count, dim_, scale_, head.dq.row(first),
                         head.dq.stride, format_.rounding);
  }

  // sums (keys, D) go on over the queries [first, first + count): weights (keys, count) · b.
  void over_queries(const Scratch& weights, const Scratch& b, std::int64_t first,
                    std::int64_t count, float* sums) const {
    const inner::AttentionTiles& tiles = format_.tiles;
    const std::int64_t words = format_.words(count), b_panel = words * width_;
    // Keys before the first query: all queries see them, and earlier spans began their chains.
    const std::int64_t earlier = (first + tiles.rows - 1) / tiles.rows;
    tiles.over_queries(earlier, dim_, words, weights.words(), row_words_, b.words(), b_panel, sums,
                       sum_stride_, true);
    for (std::int64_t key = earlier * tiles.rows; key < first + count; key += tiles.rows) {
      // Queries before the first key of the tile see none of it; whole pairs of them are left out.
      const std::int64_t skipped = (key - first) / 2 * 2 / tiles.values_per_word;
      tiles.over_queries(1, dim_, words - skipped, weights.words() + key * row_words_ + skipped,
                         row_words_, b.words() + skipped * width_, b_panel,
                         sums + key * sum_stride_, sum_stride_, false);
    }
  }

  AttentionFormat format_;
  float scale_;
  std::int64_t time_, dim_, width_;
  std::int64_t keys_;  // padded to whole tiles
  std::int64_t dim_words_, sum_stride_;
  std::int64_t span_;  // queries between two passes over dk and dv
  std::int64_t row_words_, panel_columns_;
  Scratch k_rows_, v_rows_, k_by_dim_;
  Scratch q_lanes_, dout_lanes_;    // of a block of queries
  Scratch q_by_dim_, dout_by_dim_;  // of a span
  Scratch p_, ds_, weights_;        // rows of a span; lanes of a block
  Scratch dq_sums_, dk_sums_, dv_sums_, lane_values_;
  bool finite_;  // keys and values
};

// The heads of a group in order, then the roundings. head(h): the h-th of them. False: see run().
template <class Head>
bool run_group(const GroupBackward& backward, std::int64_t heads, const Head& head, Matrix dk,
               Matrix dv) {
  const AttentionFormat& format = backward.format();
  const std::int64_t stride = backward.sum_stride(), rows = dk.rows, dim = dk.cols;
  const auto write = [&](const float* k_sums, const float* v_sums) {
    format.tiles.scaled(k_sums, stride, rows, dim, backward.scale(), dk.data, dk.stride,
                        format.rounding);
    format.tiles.scaled(v_sums, stride, rows, dim, 1.0f, dv.data, dv.stride, format.rounding);
  };
  if (heads == 1) {
    if (!backward.run(head(0))) return false;
    write(backward.dk_sums(), backward.dv_sums());
    return true;
  }
  const Scratch dk_total(static_cast<std::size_t>(rows * stride) * 4);
  const Scratch dv_total(static_cast<std::size_t>(rows * stride) * 4);
  for (std::int64_t h = 0; h < heads; ++h) {
    if (!backward.run(head(h))) return false;
    for (std::int64_t j = 0; j < rows; ++j) {
      const std::int64_t row = j * stride;
      format.table.finish(backward.dk_sums() + row, stride, dk_total.floats() + row,
                          inner::kRoundNone, h > 0);
      format.table.finish(backward.dv_sums() + row, stride, dv_total.floats() + row,
                          inner::kRoundNone, h > 0);
    }
  }
  write(dk_total.floats(), dv_total.floats());
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
  parallel_for(static_cast<std::size_t>(shape.batch * shape.kv_heads), 1, [&](std::size_t task) {
    const std::int64_t sequence = static_cast<std::int64_t>(task) / shape.kv_heads;
    const std::int64_t kv = static_cast<std::int64_t>(task) % shape.kv_heads;
    // All query heads of the group side by side.
    const auto wide = [&](auto m) {
      return column_block(row_block(m, sequence * time, time), kv * group * dim, group * dim);
    };
    const auto narrow = [&](auto m) { return head_of(m, time, time, sequence, kv, dim); };
    const std::size_t saved =
        static_cast<std::size_t>((sequence * shape.heads + kv * group) * time);
    const GroupBackward backward(shape, policy, narrow(k), narrow(v));
    const auto head = [&](std::int64_t h) -> QueryHead {
      const auto of = [&](auto m) { return column_block(wide(m), h * dim, dim); };
      const std::size_t at = saved + static_cast<std::size_t>(h * time);
      return {of(dout), of(q), of(out), row_max.data() + at, row_sum.data() + at, of(dq)};
    };
    if (run_group(backward, group, head, narrow(dk), narrow(dv))) return;
    AttentionShape one = shape;
    one.batch = 1, one.heads = group, one.kv_heads = 1;
    const auto count = static_cast<std::size_t>(group * time);
    reference::attention_backward(wide(dout), wide(q), narrow(k), narrow(v), wide(out),
                                  row_max.subspan(saved, count), row_sum.subspan(saved, count),
                                  wide(dq), narrow(dk), narrow(dv), one, policy);
  });
}

}  // namespace nb::kernels
