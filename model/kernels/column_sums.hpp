// Sums over the rows of each column, in row order, and how they come to a parameter's gradient
// (broadcast.hpp). Parallel over columns, which changes no bit. Internal to model/kernels.
#pragma once

#include <cstdint>

#include "harness/base/check.hpp"
#include "harness/base/parallel.hpp"
#include "model/kernels/broadcast.hpp"
#include "model/kernels/inner/dispatch.hpp"
#include "model/kernels/simd_level.hpp"

namespace nb::kernels {

inline constexpr std::int64_t kColumnsAtOnce = 64;

// sum: `count` sums, for the gradient's values from `first` on; rounded as `rounding` says at
// first.
inline void add_to_gradient(const inner::Table& table, float* sum, std::int64_t first,
                            std::int64_t count, const ParameterGradient& to, int rounding) {
  float* values = to.values.data() + first;
  table.cast(sum, count, sum, rounding);
  const int last = inner::rounding_of(to.dtype);
  table.cast(sum, count, to.accumulate ? sum : values, last);
  if (to.accumulate) table.add(values, sum, count, values, last);
}

// add(i, first, count, sum): adds row i's terms of `count` columns from `first` on to their sums.
template <class Add>
void sum_columns(const inner::Table& table, std::int64_t rows, std::int64_t cols,
                 const ParameterGradient& to, int rounding, const Add& add) {
  NB_CHECK(static_cast<std::int64_t>(to.values.size()) == cols,
           "[column sums] {} columns into {} values", cols, to.values.size());
  parallel_chunks(static_cast<std::size_t>(cols), static_cast<std::size_t>(kColumnsAtOnce),
                  [&](std::size_t begin, std::size_t end) {
                    check_float_mode();
                    const auto first = static_cast<std::int64_t>(begin);
                    const auto count = static_cast<std::int64_t>(end - begin);
                    float sum[kColumnsAtOnce] = {};
                    for (std::int64_t i = 0; i < rows; ++i) add(i, first, count, sum);
                    add_to_gradient(table, sum, first, count, to, rounding);
                  });
}

}  // namespace nb::kernels
