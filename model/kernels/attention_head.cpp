#include "model/kernels/attention_head.hpp"

#include <algorithm>

#include "harness/base/check.hpp"
#include "model/kernels/both_forms.hpp"
#include "model/kernels/reference/attention.hpp"

namespace nb::kernels {
namespace {

void prefetch(const ConstAnyMatrix& x) {
  for (std::int64_t i = 0; i < x.rows; ++i) {
    for (std::int64_t j = 0; j < x.cols; j += 64 / x.value_bytes()) __builtin_prefetch(x.at(i, j));
  }
}

std::size_t word_bytes(std::int64_t words) { return static_cast<std::size_t>(words) * 4; }

void save(const QueryRows& rows, std::int64_t first, std::int64_t count, const float* max,
          const float* sum) {
  if (rows.row_max != nullptr) std::copy_n(max, count, rows.row_max + first);
  if (rows.row_sum != nullptr) std::copy_n(sum, count, rows.row_sum + first);
}

}  // namespace

HeadKeys::HeadKeys(const AttentionFormat& format, std::int64_t capacity, std::int64_t dim)
    : format_(format),
      capacity_(capacity),
      dim_(dim),
      v_panel_(format.words(round_up(capacity, 2)) * format.tiles.width),
      k_rows_(word_bytes(format.padded_keys(capacity) * format.words(dim))),
      v_panels_(word_bytes(format.panels(dim) * v_panel_)) {}

void HeadKeys::append(const KeyRows& k, const KeyRows& v) {
  NB_CHECK(keys_ + k.rows <= capacity_ && k.rows == v.rows && k.cols == dim_ && v.cols == dim_,
           "[attention] {} keys and {} values of {} behind {} of {}", k.rows, v.rows, k.cols, keys_,
           capacity_);
  if (k.rows == 0) return;
  format_.rows_of(k, format_.padded_keys(keys_ + k.rows) - keys_,
                  k_rows_.words() + keys_ * format_.words(dim_));
  std::int64_t done = 0;
  if (keys_ % 2 == 1) {  // the pair that two pieces share
    const Scratch pair(word_bytes(2 * dim_));
    last_value_.copy_row(0, pair.floats());
    v.copy_row(0, pair.floats() + dim_);
    append_values(matrix(pair.floats(), 2, dim_), keys_ - 1);
    done = 1;
  }
  append_values(v.rows_from(done, v.rows - done), keys_ + done);
  keys_ += k.rows;
  last_value_ = v.rows_from(v.rows - 1, 1);
}

void HeadKeys::append_values(const KeyRows& v, std::int64_t key) {
  if (v.rows == 0) return;
  const inner::AttentionTiles& tiles = format_.tiles;
  const std::int64_t first = key / tiles.values_per_word * tiles.width;
  format_.lanes_of_columns(v, v_panels_.words() + first, v_panel_);
  for (std::int64_t panel = 0; panel < format_.panels(dim_); ++panel) {
    finite_ = finite_ && tiles.finite(v_panels_.words() + panel * v_panel_ + first,
                                      format_.words(v.rows) * tiles.width);
  }
}

void HeadKeys::mark() {
  marked_keys_ = keys_;
  marked_finite_ = finite_;
  marked_value_ = last_value_;
}

void HeadKeys::reset() {
  keys_ = marked_keys_;
  finite_ = marked_finite_;
  last_value_ = marked_value_;
}

void HeadKeys::attend(const QueryRows& rows, float scale, std::int64_t window,
                      inner::RowsAhead* ahead) const {
  const inner::AttentionTiles& tiles = format_.tiles;
  const std::int64_t width = tiles.width, sum_stride = round_up(dim_, 16);
  const Scratch q(word_bytes(format_.words(dim_) * width));
  const Scratch scores(word_bytes(format_.padded_keys(capacity_) * width));
  const Scratch weights(word_bytes(round_up(capacity_, 2) * width));
  const Scratch sums(word_bytes(width * sum_stride));
  const Scratch extremes(word_bytes(2 * width));
  inner::AttentionForward block = {.q = q.words(),
                                   .k = k_rows_.words(),
                                   .v = v_panels_.words(),
                                   .v_panel = v_panel_,
                                   .dim = dim_,
                                   .queries = 0,
                                   .position = 0,
                                   .keys = keys_,
                                   .window = window > 0 ? window : inner::kNoWindow,
                                   .scale = scale,
                                   .rounding = format_.input_rounding,
                                   .scores = scores.floats(),
                                   .weights = weights.words(),
                                   .sums = sums.floats(),
                                   .max = extremes.floats(),
                                   .sum = extremes.floats() + width,
                                   .ahead = ahead};
  for (std::int64_t first = 0; first < rows.q.rows; first += width) {
    block.queries = std::min(width, rows.q.rows - first);
    block.position = rows.position + first;
    format_.lanes_of_rows(row_block(rows.q, first, block.queries), q.words());
    const std::int64_t next = first + width;
    if (ahead == nullptr && next < rows.q.rows) {
      prefetch(row_block(rows.q, next, std::min(width, rows.q.rows - next)));
    }
    tiles.forward(block);
    const ToFp32 out(format_.table, row_block(rows.out, first, block.queries));
    tiles.quotients(block.sums, sum_stride, block.queries, dim_, block.sum, out.view().data,
                    out.view().stride, format_.rounding);
    out.keep();
    save(rows, first, block.queries, block.max, block.sum);
  }
}

void attend_one_by_one(const AttentionFormat& format, const QueryRows& rows, const void** k,
                       const void** v, const inner::HeadPointers& next, float scale,
                       std::int64_t window) {
  const std::int64_t dim = rows.q.cols, keys = rows.position + rows.q.rows;
  const std::int64_t scores_size = round_up(keys, 16) + inner::kKeysAtOnce;
  const std::int64_t sums_size = round_up(dim, 16), zeros_size = window > 0 ? dim : 0;
  const Scratch scratch(word_bytes(scores_size + sums_size + zeros_size + dim + keys + 32));
  float *scores = scratch.floats(), *sums = scores + scores_size, *zeros = sums + sums_size;
  std::uint32_t* words = scratch.words() + scores_size + sums_size + zeros_size;
  std::fill(zeros, zeros + zeros_size, 0.0f);
  const void* kept[kKeyAlignment];
  for (std::int64_t i = 0; i < rows.q.rows; ++i) {
    const std::int64_t position = rows.position + i, first = first_packed_key(position, window);
    const std::int64_t hidden = first_key(position, window) - first;
    // What is hidden counts with a weight of zero, so its values must be finite.
    std::copy_n(v + first, hidden, kept);
    std::fill_n(v + first, hidden, zeros);
    float max = 0.0f, sum = 0.0f;
    format.tiles.one({.q = rows.q.matrix().row(i),
                      .now = {k + first, v + first, position + 1 - first},
                      .next = next,
                      .dim = dim,
                      .hidden = hidden,
                      .scale = scale,
                      .rounding = format.input_rounding,
                      .scores = scores,
                      .words = words,
                      .sums = sums,
                      .max = &max,
                      .sum = &sum});
    std::copy_n(kept, hidden, v + first);
    format.tiles.quotients(sums, 0, 1, dim, &sum, rows.out.fp32 + i * rows.out.stride,
                           rows.out.stride, format.rounding);
    save(rows, i, 1, &max, &sum);
  }
}

void attend_by_definition(const QueryRows& rows, const ConstAnyMatrix& k, const ConstAnyMatrix& v,
                          float scale, std::int64_t window, const MatmulPolicy& policy) {
  const inner::Table& table = inner::table();
  const AsFp32 q(table, rows.q), keys(table, k), values(table, v);
  const ToFp32 out(table, rows.out);
  const auto saved = [&](float* first) {
    return first == nullptr ? std::span<float>()
                            : std::span<float>(first, static_cast<std::size_t>(rows.q.rows));
  };
  reference::attention(q.view(), keys.view(), values.view(), out.view(),
                       {saved(rows.row_max), saved(rows.row_sum)},
                       {.batch = 1,
                        .queries = rows.q.rows,
                        .keys = k.rows,
                        .heads = 1,
                        .kv_heads = 1,
                        .head_dim = k.cols,
                        .first_position = rows.position,
                        .key_rows = k.rows,
                        .scale = scale,
                        .window = window},
                       policy);
  out.keep();
}

}  // namespace nb::kernels
