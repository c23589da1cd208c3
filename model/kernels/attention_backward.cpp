#include <algorithm>

#include "harness/base/parallel.hpp"
#include "model/kernels/attention.hpp"
#include "model/kernels/attention_ahead.hpp"
#include "model/kernels/attention_format.hpp"
#include "model/kernels/attention_shape.hpp"
#include "model/kernels/both_forms.hpp"
#include "model/kernels/reference/attention.hpp"
#include "model/kernels/scratch.hpp"

namespace nb::kernels {
namespace {

// One query head: what it reads, and where dq goes.
struct QueryHead {
  ConstAnyMatrix dout, q, out;
  const float* row_max;
  const float* row_sum;
  AnyMatrix dq;
};

// Keys, values and their gradients of a key head.
struct KeyHead {
  ConstAnyMatrix k, v;
  AnyMatrix dk, dv;
};

// The backward of one key head and the query heads that share it, which come in their order.
class GroupBackward {
 public:
  GroupBackward(const AttentionShape& shape, const MatmulPolicy& policy, const KeyHead& head)
      : format_(policy),
        scale_(score_scale(shape)),
        time_(shape.keys),
        position_(shape.first_position),
        window_(shape.window > 0 ? shape.window : inner::kNoWindow),
        dim_(shape.head_dim),
        heads_(group_size(shape)),
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
        block_rows_(bytes(width_ * dim_words_)),
        q_lanes_(bytes(dim_words_ * width_)),
        dout_lanes_(bytes(dim_words_ * width_)),
        q_by_dim_(bytes(panel_columns_ * row_words_)),
        dout_by_dim_(bytes(panel_columns_ * row_words_)),
        p_(bytes(keys_ * row_words_)),
        ds_(bytes(keys_ * row_words_)),
        weights_(bytes(round_up(keys_, 2) * width_)),
        dq_sums_(bytes(width_ * sum_stride_)),
        tile_sums_(bytes(format_.tiles.rows * sum_stride_)),
        lane_values_(bytes(3 * width_)),
        dk_{head.dk, scale_, ds_, q_by_dim_, Scratch(sums_bytes()), Scratch(total_bytes())},
        dv_{head.dv, 1.0f, p_, dout_by_dim_, Scratch(sums_bytes()), Scratch(total_bytes())} {
    format_.rows_of(head.k, keys_, k_rows_.words());
    format_.rows_of(head.v, keys_, v_rows_.words());
    format_.panels_of_words(k_rows_.words(), time_, dim_, k_by_dim_.words(), k_panel());
    finite_ = format_.tiles.finite(k_rows_.words(), keys_ * dim_words_) &&
              format_.tiles.finite(v_rows_.words(), keys_ * dim_words_);
  }

  // dq of the next head; the last one leaves dk and dv. False: an input that is not finite in its
  // format could be seen through masked products; what was written is void.
  bool run(const QueryHead& head, inner::RowsAhead* ahead) {
    ahead_ = ahead;
    for (std::int64_t first = 0; first < time_; first += span_) {
      if (!finite_ || !run_span(head, first, std::min(span_, time_ - first))) return false;
    }
    ++heads_done_;
    return true;
  }
  // Steps of the tiles of a query head.
  std::int64_t steps() const {
    const std::int64_t whole = time_ * (time_ + 1) / 2;
    const std::int64_t pairs =
        window_ < time_ ? std::min(whole, time_ * (window_ + width_)) : whole;
    return format_.steps(5 * pairs * dim_);
  }

 private:
  // dk or dv: factor times the chains over queries of weights · b, added over the heads.
  struct KeyGradient {
    AnyMatrix out;
    float factor;
    const Scratch &weights, &b;
    Scratch sums;   // (keys before the last span, D): chains that go on
    Scratch total;  // (keys, D) of the heads so far, if there are several
  };

  static std::size_t bytes(std::int64_t words) { return static_cast<std::size_t>(words) * 4; }
  std::size_t sums_bytes() const { return time_ > span_ ? bytes(keys_ * sum_stride_) : 0; }
  std::size_t total_bytes() const { return heads_ > 1 ? bytes(keys_ * sum_stride_) : 0; }
  std::int64_t k_panel() const { return format_.words(time_) * width_; }
  std::int64_t b_panel() const { return row_words_ * width_; }

  bool run_span(const QueryHead& head, std::int64_t first, std::int64_t count) {
    for (std::int64_t i = 0; i < count; i += width_) {
      if (!run_block(head, first + i, std::min(width_, count - i),
                     i / format_.tiles.values_per_word)) {
        return false;
      }
    }
    over_queries(dk_, first, count);
    over_queries(dv_, first, count);
    return true;
  }

  // A block of x (queries, D): lanes, and the words of its panels from `word` on. False: not
  // finite.
  bool convert(const ConstAnyMatrix& x, std::int64_t word, const Scratch& lanes,
               const Scratch& by_dim) const {
    format_.rows_of(x, x.rows, block_rows_.words());
    format_.lanes_of_words(block_rows_.words(), x.rows, dim_, lanes.words());
    format_.panels_of_words(block_rows_.words(), x.rows, dim_, by_dim.words() + word * width_,
                            b_panel());
    return format_.tiles.finite(block_rows_.words(), x.rows * dim_words_);
  }

  // dq of a block of queries; p and ds of all keys that it sees, from word `word` of their rows.
  bool run_block(const QueryHead& head, std::int64_t first, std::int64_t count,
                 std::int64_t word) const {
    if (!convert(row_block(head.q, first, count), word, q_lanes_, q_by_dim_) ||
        !convert(row_block(head.dout, first, count), word, dout_lanes_, dout_by_dim_)) {
      return false;
    }
    float* max = lane_values_.floats();
    float* sum = max + width_;
    float* delta = sum + width_;
    const AsFp32 dout(format_.table, row_block(head.dout, first, count)),
        out(format_.table, row_block(head.out, first, count));
    for (std::int64_t i = 0; i < count; ++i) {
      max[i] = head.row_max[first + i];
      sum[i] = head.row_sum[first + i];
      delta[i] = format_.table.dot(dout.view().row(i), out.view().row(i), dim_);
    }
    for (std::int64_t i = count; i < width_; ++i) {
      max[i] = delta[i] = 0.0f;
      sum[i] = 1.0f;
    }
    format_.tiles.backward({.q = q_lanes_.words(),
                            .dout = dout_lanes_.words(),
                            .k = k_rows_.words(),
                            .v = v_rows_.words(),
                            .k_by_dim = k_by_dim_.words(),
                            .k_panel = k_panel(),
                            .dim = dim_,
                            .queries = count,
                            .position = position_ + first,
                            .keys = time_,
                            .window = window_,
                            .scale = scale_,
                            .rounding = format_.input_rounding,
                            .max = max,
                            .sum = sum,
                            .delta = delta,
                            .p = p_.words() + word,
                            .ds = ds_.words() + word,
                            .row_words = row_words_,
                            .weights = weights_.words(),
                            .dq = dq_sums_.floats(),
                            .ahead = ahead_});
    const ToFp32 dq(format_.table, row_block(head.dq, first, count));
    format_.tiles.scaled(dq_sums_.floats(), sum_stride_, count, dim_, scale_, dq.view().data,
                         dq.view().stride, format_.rounding);
    dq.keep();
    return true;
  }

  // The chains of all keys go on over the queries [first, first + count) and end with the last that
  // sees them.
  void over_queries(const KeyGradient& d, std::int64_t first, std::int64_t count) const {
    const std::int64_t rows = format_.tiles.rows, position = position_ + first;
    const std::int64_t begin = std::max<std::int64_t>(first - window_, 0) / rows * rows;
    for (std::int64_t key = begin; key < std::min(position + count, time_); key += rows) {
      // Queries before the first key of the tile see none of it; whole pairs of them are left out.
      const std::int64_t hidden = std::max<std::int64_t>(key - position, 0) / 2 * 2;
      const std::int64_t skipped = hidden / format_.tiles.values_per_word;
      // Blocks of queries behind the last one's wrote nothing here.
      const std::int64_t last = std::min(key + rows - 1 + window_, time_ - 1);
      const std::int64_t seen = std::min(count, (last - first) / width_ * width_ + width_);
      const bool is_last = last < first + count;
      float* sums = d.sums.floats() + key * sum_stride_;
      float* to = is_last ? tile_sums_.floats() : sums;
      format_.tiles.over_queries({.cols = dim_,
                                  .words = format_.words(seen) - skipped,
                                  .a = d.weights.words() + key * row_words_ + skipped,
                                  .a_stride = row_words_,
                                  .b = d.b.words() + skipped * width_,
                                  .b_panel = b_panel(),
                                  .start = first > 0 && key < position ? sums : nullptr,
                                  .c = to,
                                  .c_stride = sum_stride_,
                                  .ahead = ahead_});
      if (is_last) finish_tile(d, key, to);
    }
  }

  // What becomes of the chains of the keys from `key` on: the heads in order, then the rounding.
  void finish_tile(const KeyGradient& d, std::int64_t key, const float* sums) const {
    const std::int64_t rows = std::min<std::int64_t>(format_.tiles.rows, time_ - key);
    if (heads_ > 1) {
      float* total = d.total.floats() + key * sum_stride_;
      format_.table.finish(sums, rows * sum_stride_, total, inner::kRoundNone, heads_done_ > 0);
      sums = total;
    }
    if (heads_done_ + 1 < heads_) return;
    const ToFp32 out(format_.table, row_block(d.out, key, rows));
    format_.tiles.scaled(sums, sum_stride_, rows, dim_, d.factor, out.view().data,
                         out.view().stride, format_.rounding);
    out.keep();
  }

  AttentionFormat format_;
  float scale_;
  std::int64_t time_;
  std::int64_t position_;  // of the first query: 0, or behind all keys
  std::int64_t window_, dim_, heads_, width_;
  std::int64_t keys_;  // padded to whole tiles
  std::int64_t dim_words_, sum_stride_;
  std::int64_t span_;  // queries between two passes over dk and dv
  std::int64_t row_words_, panel_columns_;
  Scratch k_rows_, v_rows_, k_by_dim_;
  Scratch block_rows_, q_lanes_, dout_lanes_;  // of a block of queries
  Scratch q_by_dim_, dout_by_dim_;             // of a span
  Scratch p_, ds_, weights_;                   // rows of a span; lanes of a block
  Scratch dq_sums_, tile_sums_, lane_values_;
  KeyGradient dk_, dv_;
  std::int64_t heads_done_ = 0;
  inner::RowsAhead* ahead_ = nullptr;  // of the head at work
  bool finite_;                        // keys and values
};

}  // namespace

void attention_backward(const ConstAnyMatrix& dout, const ConstAnyMatrix& q,
                        const ConstAnyMatrix& k, const ConstAnyMatrix& v, const ConstAnyMatrix& out,
                        std::span<const float> row_max, std::span<const float> row_sum,
                        const AnyMatrix& dq, const AnyMatrix& dk, const AnyMatrix& dv,
                        const AttentionShape& shape, const MatmulPolicy& policy) {
  check_attention("attention_backward", q, k, v, out, shape, policy);
  check_attention("attention_backward", dq, dk, dv, dout, shape, policy);
  check_saved("attention_backward", row_max.size(), shape);
  check_saved("attention_backward", row_sum.size(), shape);
  NB_CHECK((shape.first_position == 0 || sees_all_keys(shape)) && shape.queries == shape.keys &&
               key_rows(shape) == shape.keys,
           "[attention_backward] a KV cache has no backward: first position {}, key rows {}",
           shape.first_position, key_rows(shape));
  if (shape.queries == 0) return;
  const std::int64_t time = shape.queries, dim = shape.head_dim, group = group_size(shape);
  const std::int64_t tasks = shape.batch * shape.kv_heads;
  // Heads of a group stand side by side.
  const auto wide = [&](auto m, std::int64_t task) {
    const std::int64_t kv = task % shape.kv_heads;
    return column_block(row_block(m, task / shape.kv_heads * time, time), kv * group * dim,
                        group * dim);
  };
  const auto narrow = [&](auto m, std::int64_t task) {
    return head_of(m, time, time, task / shape.kv_heads, task % shape.kv_heads, dim);
  };
  const auto key_head = [&](std::int64_t task) -> KeyHead {
    return {narrow(k, task), narrow(v, task), narrow(dk, task), narrow(dv, task)};
  };
  // h: of the group.
  const auto query_head = [&](std::int64_t task, std::int64_t h) -> QueryHead {
    const auto of = [&](auto m) { return column_block(wide(m, task), h * dim, dim); };
    const std::int64_t at = (task * group + h) * time;
    return {of(dout), of(q), of(out), row_max.data() + at, row_sum.data() + at, of(dq)};
  };
  parallel_for(static_cast<std::size_t>(tasks), 1, [&](std::size_t index) {
    const auto task = static_cast<std::int64_t>(index);
    const KeyHead keys = key_head(task);
    GroupBackward backward(shape, policy, keys);
    std::int64_t done = 0;
    for (; sums_are_chains(policy) && done < group; ++done) {
      RowsAhead ahead(backward.steps());
      const auto prefetch_later = [&](const QueryHead& head, std::int64_t first,
                                      std::int64_t rows) {
        ahead.add({some_rows(head.q, first, rows), some_rows(head.dout, first, rows),
                   some_rows(head.out, first, rows), some_rows(head.dq, first, rows)});
      };
      prefetch_later(query_head(task, done), kLeadQueries, time);
      if (done + 1 < group) {
        prefetch_later(query_head(task, done + 1), 0, kLeadQueries);
      } else if (task + 1 < tasks) {
        const KeyHead next = key_head(task + 1);
        ahead.add({keys.dk, keys.dv, next.k, next.v});
        prefetch_later(query_head(task + 1, 0), 0, kLeadQueries);
      } else {
        ahead.add({keys.dk, keys.dv});
      }
      if (!backward.run(query_head(task, done), ahead.get())) break;
    }
    if (done == group) return;
    AttentionShape one = shape;
    one.batch = 1, one.heads = group, one.kv_heads = 1;
    const auto saved = static_cast<std::size_t>(task * group * time);
    const auto count = static_cast<std::size_t>(group * time);
    const inner::Table& table = inner::table();
    const AsFp32 dout_in(table, wide(dout, task)), q_in(table, wide(q, task)), k_in(table, keys.k),
        v_in(table, keys.v), out_in(table, wide(out, task));
    const ToFp32 dq_out(table, wide(dq, task)), dk_out(table, keys.dk), dv_out(table, keys.dv);
    reference::attention_backward(dout_in.view(), q_in.view(), k_in.view(), v_in.view(),
                                  out_in.view(), row_max.subspan(saved, count),
                                  row_sum.subspan(saved, count), dq_out.view(), dk_out.view(),
                                  dv_out.view(), one, policy);
    for (const ToFp32* made : {&dq_out, &dk_out, &dv_out}) made->keep();
  });
}

}  // namespace nb::kernels
