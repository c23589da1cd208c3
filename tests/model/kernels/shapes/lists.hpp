// The shapes at which every kernel is compared with its naive definition: fixed, and chosen for
// where kernels go wrong (nothing, one, odd, one less and one more than a vector, a register tile,
// a block that fits the cache). One list a family; together at least 300 (count_test.cpp).
#pragma once

#include <cstdint>
#include <vector>

#include "model/kernels/attention.hpp"
#include "tests/model/kernels/kernel_case.hpp"

namespace nb::test {

std::vector<ProductShape> product_shapes();

struct RowShape {
  std::int64_t rows, cols;
};
std::vector<RowShape> row_shapes();         // norms, residual, relu², cast, embedding
std::vector<RowShape> vocabulary_shapes();  // logits: rows × vocabulary
std::vector<RowShape> muon_shapes();        // matrices that Newton–Schulz turns

struct RotaryCase {
  std::int64_t sequences, time, heads, head_dim, first_position;
};
std::vector<RotaryCase> rotary_cases();

std::vector<kernels::AttentionShape> training_attention_shapes();  // forward and backward
std::vector<kernels::AttentionShape> chunk_attention_shapes();     // forward over a cache

// Sequences of one ragged batch; each: keys in how many pieces, first position, queries.
struct RaggedSequence {
  std::int64_t first_position, queries, pieces;
};
struct RaggedCase {
  std::int64_t heads, kv_heads, head_dim;
  std::vector<RaggedSequence> sequences;
};
std::vector<RaggedCase> ragged_cases();

std::vector<std::size_t> flat_sizes();  // optimizers, casts, sums, vector functions

// The whole list, or every tenth of it where each instruction costs many (sanitizers, emulation).
template <class T>
std::vector<T> thinned(std::vector<T> list) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || defined(__aarch64__)
  std::vector<T> few;
  for (std::size_t i = 0; i < list.size(); i += 10) few.push_back(list[i]);
  return few;
#else
  return list;
#endif
}

}  // namespace nb::test
