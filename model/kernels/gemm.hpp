// The engine of matmul.hpp: a right operand of panels, packed once, times a left operand that is
// converted to rows of words by the task that needs it. Internal to model/kernels. Bits:
// policy.hpp.
#pragma once

#include <cstdint>
#include <span>

#include "model/kernels/inner/table.hpp"
#include "model/kernels/matmul.hpp"
#include "model/kernels/multiples.hpp"
#include "model/kernels/policy.hpp"
#include "model/tensor/view.hpp"

namespace nb::kernels {

// How the level in use takes inputs of a format.
struct GemmFormat {
  const inner::Gemm* gemm = nullptr;
  int rounding = inner::kRoundNone;
  bool swaps_pairs = false;  // k runs 1, 0, 3, 2, … by packing

  std::int64_t steps(std::int64_t k_count) const;  // padded to whole pairs for bf16
  // From one panel to the next: never a power of two, so that panels do not meet in a cache's sets.
  std::int64_t panel_words(std::int64_t k_count) const;
};
GemmFormat gemm_format(DType inputs);

// Element (p, k) of an operand; p is a row of A or a column of B. One stride is 1.
struct Operand {
  const float* data = nullptr;
  std::int64_t stride_p = 0;
  std::int64_t stride_k = 0;

  Operand from(std::int64_t p, std::int64_t k) const {
    return {data + p * stride_p + k * stride_k, stride_p, stride_k};
  }
};

// The panels of an operand of n columns of B, or rows of A, and chains of k.
std::size_t panels_bytes(const GemmFormat& format, std::int64_t n, std::int64_t k);
void pack_all_panels(const GemmFormat& format, const Operand& b, std::int64_t n, std::int64_t k,
                     std::uint32_t* panels);                     // parallel inside
const std::uint32_t* packed_panels(const PackedMatrix& packed);  // not empty

struct GemmShape {
  std::int64_t m, n, k;
  std::int64_t m_each = 0;  // rows of each of several products, one below the other; 0: of one
};
struct GemmEnds {
  const float* start = nullptr;  // sums that the chains continue from (kChain), or null: +0
  std::int64_t start_stride = 0;
  bool finishes = true;               // false: c takes the raw sums
  bool accumulate = false;            // c += the finished sums
  const AfterBlock* after = nullptr;  // where c has no data, blocks of it exist only for this
  bool is_lower = false;              // only the elements on and below the diagonal are wanted
};
// The left operand: (m, k), or (k, m) where is_transposed.
struct GemmLeft {
  ConstAnyMatrix source;
  bool is_transposed = false;
};
// Parallel inside.
void multiply(const GemmFormat& format, const GemmLeft& a, const std::uint32_t* panels,
              const GemmShape& shape, Matrix c, const MatmulPolicy& policy, const GemmEnds& ends);

// C = Aᵀ B of each a (k, m) with one b (k, n). All have one shape, whose C may be cut as one
// (gemm_plan.hpp). ends.start belongs to all of them together. Parallel inside.
void multiply_transposed(const GemmFormat& format, std::span<const TransposedProduct> products,
                         ConstAnyMatrix b, const MatmulPolicy& policy, const GemmEnds& ends);

}  // namespace nb::kernels
