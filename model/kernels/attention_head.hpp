// Forward attention of the query heads that share a key head, for attention() and
// attention_cached(). Internal to model/kernels; one thread.
#pragma once

#include <cstdint>

#include "model/kernels/attention_format.hpp"
#include "model/kernels/scratch.hpp"

namespace nb::kernels {

// Queries of one head and where its results go.
struct QueryRows {
  ConstMatrix q;              // (queries, D)
  Matrix out;                 // the same
  std::int64_t position = 0;  // absolute, of the first query
  float* row_max = nullptr;   // of the first query, or null
  float* row_sum = nullptr;
};

// Keys and values of one head, packed: positions 0 to k.rows - 1.
class HeadKeys {
 public:
  HeadKeys(const AttentionFormat& format, ConstMatrix k, ConstMatrix v);
  // Masked products are computed: a value that is not finite in the input format would be seen
  // through them, and attend() must not be called.
  bool finite() const;
  // No query beyond the last key.
  void attend(const QueryRows& rows, float scale) const;

 private:
  const AttentionFormat& format_;
  std::int64_t keys_, dim_;
  Scratch k_rows_, v_panels_;
};

}  // namespace nb::kernels
