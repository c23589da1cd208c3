// How attention packs the inputs of a policy at the level in use. Internal to model/kernels; one
// thread.
#pragma once

#include <algorithm>
#include <cstdint>

#include "model/kernels/inner/dispatch.hpp"
#include "model/kernels/panels.hpp"
#include "model/kernels/policy.hpp"
#include "model/tensor/view.hpp"

namespace nb::kernels {

struct AttentionFormat {
  const inner::Table& table;
  const inner::AttentionTiles& tiles;
  InputFormat input;
  int rounding;  // of the results

  explicit AttentionFormat(const MatmulPolicy& policy)
      : table(inner::table()),
        tiles(policy.inputs == DType::kBf16 ? table.bf16_attention : table.fp32_attention),
        input(input_format(table, policy.inputs)),
        rounding(inner::rounding_of(policy.output, policy.fp16_saturates)) {}

  std::int64_t words(std::int64_t values) const {
    const bool even = tiles.even || tiles.values_per_word == 2;
    return (even ? round_up(values, 2) : values) / tiles.values_per_word;
  }
  std::int64_t padded_keys(std::int64_t keys) const { return round_up(keys, tiles.rows); }
  std::int64_t panels(std::int64_t cols) const { return (cols + tiles.width - 1) / tiles.width; }

  // Rows of x side by side, their columns down: (words(cols), width) for each `width` rows.
  void lanes_of_rows(ConstMatrix x, std::uint32_t* out) const {
    pack(x.data, x.stride, 1, x.rows, x.cols, out);
  }
  // Columns of x side by side, its rows down: (words(rows), width) for each `width` columns.
  void lanes_of_columns(ConstMatrix x, std::uint32_t* out) const {
    pack(x.data, 1, x.stride, x.cols, x.rows, out);
  }
  void rows_of(ConstMatrix x, std::uint32_t* out) const {
    tiles.to_rows(x.data, x.stride, x.rows, padded_keys(x.rows), x.cols, input.rounding, out);
  }

 private:
  void pack(const float* data, std::int64_t stride_p, std::int64_t stride_k, std::int64_t p_count,
            std::int64_t k_count, std::uint32_t* out) const {
    input.product->pack(data, stride_p, stride_k, p_count, tiles.width, k_count, words(k_count),
                        input.rounding, false, out);
  }
};

inline bool all_below(const inner::Table& table, ConstMatrix m, float limit) {
  for (std::int64_t i = 0; i < m.rows; ++i) {
    if (!table.all_below(m.row(i), m.cols, limit)) return false;
  }
  return true;
}

}  // namespace nb::kernels
