#include "model/kernels/attention_head.hpp"

#include <algorithm>

namespace nb::kernels {
namespace {

void prefetch(ConstMatrix x) {
  for (std::int64_t i = 0; i < x.rows; ++i) {
    for (std::int64_t j = 0; j < x.cols; j += 16) __builtin_prefetch(x.row(i) + j);
  }
}

std::size_t bytes(std::int64_t words) { return static_cast<std::size_t>(words) * 4; }

}  // namespace

HeadKeys::HeadKeys(const AttentionFormat& format, ConstMatrix k, ConstMatrix v)
    : format_(format),
      keys_(k.rows),
      dim_(k.cols),
      k_rows_(bytes(format.padded_keys(keys_) * format.words(dim_))),
      v_panels_(bytes(format.panels(dim_) * format.tiles.width * format.words(keys_))) {
  format.rows_of(k, k_rows_.words());
  format.lanes_of_columns(v, v_panels_.words());
}

bool HeadKeys::finite() const {
  return format_.tiles.finite(v_panels_.words(),
                              format_.panels(dim_) * format_.tiles.width * format_.words(keys_));
}

void HeadKeys::attend(const QueryRows& rows, float scale) const {
  const inner::AttentionTiles& tiles = format_.tiles;
  const std::int64_t width = tiles.width, sum_stride = round_up(dim_, 16);
  const Scratch q(bytes(format_.words(dim_) * width));
  const Scratch scores(bytes(format_.padded_keys(keys_) * width));
  const Scratch weights(bytes(round_up(keys_, 2) * width));
  const Scratch sums(bytes(width * sum_stride));
  const Scratch extremes(bytes(2 * width));
  inner::AttentionForward block = {.q = q.words(),
                                   .k = k_rows_.words(),
                                   .v = v_panels_.words(),
                                   .v_panel = format_.words(keys_) * width,
                                   .dim = dim_,
                                   .queries = 0,
                                   .position = 0,
                                   .scale = scale,
                                   .rounding = format_.input.rounding,
                                   .scores = scores.floats(),
                                   .weights = weights.words(),
                                   .sums = sums.floats(),
                                   .max = extremes.floats(),
                                   .sum = extremes.floats() + width};
  for (std::int64_t first = 0; first < rows.q.rows; first += width) {
    block.queries = std::min(width, rows.q.rows - first);
    block.position = rows.position + first;
    format_.lanes_of_rows(row_block(rows.q, first, block.queries), q.words());
    const std::int64_t next = first + width;
    if (next < rows.q.rows) {
      prefetch(row_block(rows.q, next, std::min(width, rows.q.rows - next)));
    }
    tiles.forward(block);
    tiles.quotients(block.sums, sum_stride, block.queries, dim_, block.sum, rows.out.row(first),
                    rows.out.stride, format_.rounding);
    if (rows.row_max != nullptr) std::copy_n(block.max, block.queries, rows.row_max + first);
    if (rows.row_sum != nullptr) std::copy_n(block.sum, block.queries, rows.row_sum + first);
  }
}

}  // namespace nb::kernels
