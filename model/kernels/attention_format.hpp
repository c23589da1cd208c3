// How attention packs the inputs of a policy at the level in use. Internal to model/kernels; one
// thread.
#pragma once

#include <cstdint>

#include "model/kernels/inner/dispatch.hpp"
#include "model/kernels/key_rows.hpp"
#include "model/kernels/multiples.hpp"
#include "model/kernels/policy.hpp"
#include "model/kernels/scratch.hpp"
#include "model/tensor/view.hpp"

namespace nb::kernels {

struct AttentionFormat {
  const inner::Table& table;
  const inner::AttentionTiles& tiles;
  int input_rounding;
  int rounding;  // of the results

  explicit AttentionFormat(const MatmulPolicy& policy)
      : table(inner::table()),
        tiles(policy.inputs == DType::kBf16 ? *table.bf16_attention : *table.fp32_attention),
        input_rounding(policy.inputs == DType::kBf16 ? inner::kRoundBf16Floor
                                                     : inner::rounding_of(policy.inputs)),
        rounding(inner::rounding_of(policy.output, policy.fp16_saturates)) {}

  std::int64_t words(std::int64_t values) const {
    const bool even = tiles.even || tiles.values_per_word == 2;
    return (even ? round_up(values, 2) : values) / tiles.values_per_word;
  }
  std::int64_t padded_keys(std::int64_t keys) const { return round_up(keys, tiles.rows); }
  std::int64_t panels(std::int64_t cols) const { return (cols + tiles.width - 1) / tiles.width; }

  // Steps of score tiles for so many products of two values.
  std::int64_t steps(std::int64_t products) const {
    return products / (tiles.values_per_word * tiles.rows * tiles.width);
  }

  // Rows of x side by side, their columns down: (words(cols), width), x.rows <= width.
  void lanes_of_rows(const ConstAnyMatrix& x, std::uint32_t* out) const {
    if (x.bf16 != nullptr) {
      const Scratch rows(static_cast<std::size_t>(x.rows * words(x.cols)) * 4);
      rows_of(x, x.rows, rows.words());
      return lanes_of_words(rows.words(), x.rows, x.cols, out);
    }
    tiles.to_lanes(x.fp32, x.stride, x.rows, x.cols, input_rounding, out);
  }
  // The same out of `rows` rows of words(cols) words each that rows_of() made.
  void lanes_of_words(const std::uint32_t* from, std::int64_t rows, std::int64_t cols,
                      std::uint32_t* out) const {
    table.fp32_attention->to_lanes(reinterpret_cast<const float*>(from), words(cols), rows,
                                   words(cols), inner::kRoundNone, out);
  }
  // Columns of such rows side by side, the rows down: (words(rows), width) for each `width`
  // columns, `panel` words apart.
  void panels_of_words(const std::uint32_t* from, std::int64_t rows, std::int64_t cols,
                       std::uint32_t* out, std::int64_t panel) const {
    if (tiles.values_per_word == 2) {
      tiles.bf16_to_panels(reinterpret_cast<const std::uint16_t*>(from), 2 * words(cols), rows,
                           cols, out, panel);
    } else {
      tiles.to_panels(reinterpret_cast<const float*>(from), words(cols), rows, cols,
                      inner::kRoundNone, out, panel);
    }
  }
  // Keys or values that a cache may hold, in words: rows of words(cols), zero from x.rows to
  // `padded`; panels of columns as above.
  void rows_of(const KeyRows& x, std::int64_t padded, std::uint32_t* out) const {
    if (x.bf16 != nullptr) {
      tiles.bf16_to_rows(x.bf16, x.stride, x.rows, padded, x.cols, out);
    } else {
      tiles.to_rows(x.fp32, x.stride, x.rows, padded, x.cols, input_rounding, out);
    }
  }
  void lanes_of_columns(const KeyRows& x, std::uint32_t* out, std::int64_t panel) const {
    if (x.bf16 != nullptr) {
      tiles.bf16_to_panels(x.bf16, x.stride, x.rows, x.cols, out, panel);
    } else {
      tiles.to_panels(x.fp32, x.stride, x.rows, x.cols, input_rounding, out, panel);
    }
  }
};

}  // namespace nb::kernels
