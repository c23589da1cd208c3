// How a product is cut: its chains into pieces, C into tasks (gemm_product.hpp). The cuts depend on
// shapes alone, never on threads, and no bit depends on them. Internal to model/kernels.
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

// How C is cut: blocks of rows × columns, of which a task has one or several.
struct GemmGrid {
  std::int64_t rows, columns;
  std::int64_t max_at_once = 1;  // blocks, one below the other, that a task may have
  std::int64_t stage_rows = 0;   // of a task, converted at a time
};
// Whether several products, each of so many rows of C, may be cut as one product with their C one
// below the other. A task must have rows of one of them only.
bool may_stand_in_a_column(std::int64_t rows);
// keeps_sums: a task needs room for the sums of all its columns. is_transposed: a task's rows must
// be transposed, which is dear, so it has many columns. is_lower: see GemmEnds.
GemmGrid gemm_grid(const GemmShape& shape, bool keeps_sums, bool is_transposed, bool is_lower);

// Rows of A, or columns of B, over some steps of their chains.
struct GemmStage {
  std::int64_t row = 0, rows = 0, first = 0, steps = 0;
};

}  // namespace nb::kernels
