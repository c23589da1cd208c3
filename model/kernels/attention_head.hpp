// Forward attention of one head, for attention() and attention_cached(). Internal to model/kernels;
// one thread.
#pragma once

#include <cstdint>

#include "model/kernels/attention.hpp"
#include "model/kernels/attention_format.hpp"
#include "model/kernels/attention_shape.hpp"
#include "model/kernels/scratch.hpp"

namespace nb::kernels {

// Sums over keys run in 16 lanes and in pairs: from such a position on they are the same.
inline constexpr std::int64_t kKeyAlignment = 16;
inline std::int64_t first_packed_key(std::int64_t position, std::int64_t window) {
  return first_key(position, window) / kKeyAlignment * kKeyAlignment;
}

// Queries of one head and where its results go.
struct QueryRows {
  ConstAnyMatrix q;           // (queries, D)
  AnyMatrix out;              // the same
  std::int64_t position = 0;  // of the first query, as the keys count
  float* row_max = nullptr;   // of the first query, or null
  float* row_sum = nullptr;
};

// Keys and values of one head from a position on, packed: it is their 0, and a multiple of
// kKeyAlignment. The rows given to append() live as long as this.
class HeadKeys {
 public:
  HeadKeys(const AttentionFormat& format, std::int64_t capacity, std::int64_t dim);

  void append(const KeyRows& k, const KeyRows& v);  // of this head
  std::int64_t size() const { return keys_; }
  // What stands here now stays; reset() forgets what comes later.
  void mark();
  void reset();

  // Masked products are computed: a value that is not finite in the input format would be seen
  // through them, and attend() must not be called.
  bool finite() const { return finite_; }
  // No query beyond the last key, or all of them. ahead: what the tiles prefetch on their way, or
  // null.
  void attend(const QueryRows& rows, float scale, std::int64_t window,
              inner::RowsAhead* ahead = nullptr) const;

 private:
  std::uint32_t* values_at(std::int64_t key) const;
  void append_values(const KeyRows& v, std::int64_t key);

  const AttentionFormat& format_;
  std::int64_t capacity_, dim_, v_panel_;
  std::int64_t keys_ = 0, marked_keys_ = 0;
  bool finite_ = true, marked_finite_ = true;
  KeyRows last_value_, marked_value_;  // row keys_ - 1 of V
  Scratch k_rows_, v_panels_;
};

// Few queries, each by itself, in fp32. now: as in HeadKeys, up to the last query's, for changes
// that are taken back. next: what the caller will need after these, or nothing.
void attend_one_by_one(const AttentionFormat& format, const QueryRows& rows, const void** k,
                       const void** v, const inner::HeadPointers& next, float scale,
                       std::int64_t window);

// The naive definition, for values that are not finite and for sums that are no chains.
void attend_by_definition(const QueryRows& rows, const ConstAnyMatrix& k, const ConstAnyMatrix& v,
                          float scale, std::int64_t window, const MatmulPolicy& policy);

}  // namespace nb::kernels
