// Values at which arithmetic goes wrong, put where loops begin, join and end. Random draws never
// reach the edge: these are placed on purpose.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tests/model/kernels/kernel_case.hpp"

namespace nb::test {

// Signed zeros, denormals, the ends of the range, infinities, NaNs of several payloads, ties of the
// roundings to bf16, fp16, tf32 and hf32 with what lies just beside them, and the 2^-56 floor.
std::span<const float> edge_values();

// Indices of [0, n) at which edges are placed: first, second, middle, and the last ones.
std::vector<std::int64_t> edge_places(std::int64_t n);

// Ordinary values with edges at those places of every row; `shift` says which edges, so that
// ceil(edge count / places) neighbouring shifts bring all of them.
Array edged_array(std::int64_t rows, std::int64_t cols, std::uint64_t seed, std::size_t shift,
                  std::int64_t padding = 3);
std::vector<float> edged_vector(std::size_t size, std::uint64_t seed, std::size_t shift);

// Two factors that meet in a product at one k, and two more at another (0 and 0: none).
struct ProductEdge {
  const char* what;
  float a, b;
  float other_a = 0, other_b = 0;
};
std::span<const ProductEdge> product_edges();

// The operands of C = A·B with the edge in the first, middle and last rows of A and columns of B,
// at a first, middle and last k. `alone`: all else in those rows of A is zero of both signs, so
// that nothing absorbs what is small.
struct Operands {
  Array a, b;  // (m, k), (n, k)
};
Operands edged_operands(std::int64_t m, std::int64_t n, std::int64_t k, const ProductEdge& edge,
                        bool alone, std::int64_t padding = 3);

Array transposed(const Array& x, std::int64_t padding = 3);

}  // namespace nb::test
