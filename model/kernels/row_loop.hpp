// Parallel loops over rows and flat arrays, cut by shape. Of kernels, and of fronts that move rows.
#pragma once

#include <algorithm>
#include <cstdint>

#include "harness/base/parallel.hpp"
#include "model/kernels/simd_level.hpp"
#include "model/tensor/view.hpp"

namespace nb::kernels {

inline constexpr std::int64_t kElementsAtOnce = 16384;
inline constexpr std::int64_t kRowElementsAtOnce = 4096;

// Rows of a piece of a loop, at least one; most: as elements go. From 32 to 96 rows are halved, as
// products of so many rows are (gemm_plan.cpp): in decoding, a token of each sequence. Their loops
// take a microsecond or two, and a thread that came first would take rows that lie in another
// core's cache.
inline std::int64_t rows_at_once(std::int64_t rows, std::int64_t most) {
  constexpr std::int64_t kHalvedRows = 32, kMaxHalvedRows = 96, kMaxPieces = 16;
  const std::int64_t half = (rows + 1) / 2;
  if (rows >= kHalvedRows && rows <= kMaxHalvedRows && 2 * half <= kMaxPieces * most) return half;
  return std::max<std::int64_t>(1, most);
}

// body(i) for each row of `cols` elements; at_once: fewer where an element is dear.
template <class Body>
void each_row(std::int64_t rows, std::int64_t cols, const Body& body,
              std::int64_t at_once = kRowElementsAtOnce) {
  const std::int64_t chunk = rows_at_once(rows, at_once / std::max<std::int64_t>(1, cols));
  parallel_chunks(static_cast<std::size_t>(rows), static_cast<std::size_t>(chunk),
                  [&](std::size_t begin, std::size_t end) {
                    check_float_mode();
                    for (std::size_t i = begin; i < end; ++i) body(static_cast<std::int64_t>(i));
                  });
}

// body(begin, count) over a flat array.
template <class Body>
void each_piece(std::size_t size, const Body& body) {
  parallel_chunks(size, static_cast<std::size_t>(kElementsAtOnce),
                  [&](std::size_t begin, std::size_t end) {
                    check_float_mode();
                    body(begin, static_cast<std::int64_t>(end - begin));
                  });
}

inline bool same_shape(const ConstAnyMatrix& a, const ConstAnyMatrix& b) {
  return a.rows == b.rows && a.cols == b.cols;
}

}  // namespace nb::kernels
