// How a product is cut: its chains into pieces, C into tasks. By shape alone, never by threads; no
// bit depends on it. Internal to model/kernels.
#pragma once

#include <cstdint>
#include <vector>

#include "model/kernels/gemm.hpp"

namespace nb::kernels {

// A piece of the chain: steps of one block of rows, in one part of the sum.
struct GemmPiece {
  std::int64_t first, steps;
  bool starts_part, ends_part;
};

std::vector<GemmPiece> gemm_pieces(const MatmulPolicy& policy, const GemmFormat& format,
                                   std::int64_t k);

// How C is cut into pieces, of which a task has one or several.
struct GemmGrid {
  std::int64_t rows, columns;
  std::int64_t max_at_once = 1;  // pieces of C, one below the other, that a task may have
  std::int64_t stage_rows = 0;   // of a task, converted at a time
};
// Whether products of so many rows of C may stand one below the other: a task's are of one of them.
bool may_stand_in_a_column(std::int64_t rows);
// keeps_sums: a task needs room for the sums of all its columns. is_transposed: transposing a
// task's rows is dear, so it has many columns. is_lower: GemmEnds's.
GemmGrid gemm_grid(const GemmShape& shape, bool keeps_sums, bool is_transposed, bool is_lower);

// Rows of A, or columns of B, over some steps of their chains.
struct GemmStage {
  std::int64_t row = 0, rows = 0, first = 0, steps = 0;
};

}  // namespace nb::kernels
