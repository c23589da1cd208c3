// Keys or values of consecutive positions, as attention reads them: fp32 numbers, or halves: bf16
// numbers in two bytes each. Halves are for policies whose inputs are bf16; there both give the
// same bits. Those of a cache are rounded for products, below 2^-56 to zero, which is where
// decoding reads them as they are.
#pragma once

#include <cstdint>

#include "model/kernels/policy.hpp"
#include "model/tensor/view.hpp"

namespace nb::kernels {

// Value d of head h in row j lies at j · stride + h · head_stride + d. Non-owning; one of the
// pointers is null (both on a dry device).
struct KeyRows {
  const float* fp32 = nullptr;
  const std::uint16_t* halves = nullptr;
  std::int64_t rows = 0;
  std::int64_t cols = 0;         // of all heads
  std::int64_t stride = 0;       // in values
  std::int64_t head_stride = 0;  // 0: a head's values lie behind those of the one before

  KeyRows() = default;
  // NOLINTBEGIN(google-explicit-constructor): a matrix is rows of keys
  KeyRows(ConstMatrix m) : fp32(m.data), rows(m.rows), cols(m.cols), stride(m.stride) {}
  KeyRows(Matrix m) : KeyRows(ConstMatrix(m)) {}
  KeyRows(const ConstNumbers& m)
      : fp32(m.fp32), halves(m.halves), rows(m.rows), cols(m.cols), stride(m.stride) {}
  // NOLINTEND(google-explicit-constructor)

  bool same_place(const KeyRows& other) const {
    return fp32 == other.fp32 && halves == other.halves && rows == other.rows &&
           stride == other.stride && head_stride == other.head_stride;
  }
  // One head's values; rows [first, first + count).
  KeyRows head(std::int64_t index, std::int64_t dim) const {
    KeyRows some = moved(index * (head_stride == 0 ? dim : head_stride));
    some.cols = dim;
    return some;
  }
  KeyRows rows_from(std::int64_t first, std::int64_t count) const {
    KeyRows some = moved(first * stride);
    some.rows = count;
    return some;
  }
  const void* row(std::int64_t j) const {
    if (halves != nullptr) return halves + j * stride;
    return fp32 + j * stride;
  }
  // From one row to the next.
  std::int64_t stride_bytes() const {
    const std::size_t value = halves != nullptr ? sizeof *halves : sizeof *fp32;
    return stride * static_cast<std::int64_t>(value);
  }
  // Values of row j of one head as fp32.
  void copy_row(std::int64_t j, float* to) const;

 private:
  KeyRows moved(std::int64_t values) const {
    KeyRows some = *this;
    if (fp32 != nullptr) some.fp32 += values;
    if (halves != nullptr) some.halves += values;
    return some;
  }
};

// Where such rows go; meanings as in KeyRows.
struct KeySpace {
  float* fp32 = nullptr;
  std::uint16_t* halves = nullptr;
  std::int64_t stride = 0;
  std::int64_t head_stride = 0;
  std::int64_t head_dim = 0;

  KeySpace behind(std::int64_t rows) const {
    KeySpace rest = *this;
    if (fp32 != nullptr) rest.fp32 += rows * stride;
    if (halves != nullptr) rest.halves += rows * stride;
    return rest;
  }
};

// Asks for the memory of so many rows, to be written soon: those of many sequences lie far apart.
void fetch_to_write(const KeySpace& space, std::int64_t rows, std::int64_t cols);

// values: (rows, heads · head_dim). NB_CHECK: halves only where the policy has them.
void store_keys(ConstMatrix values, const KeySpace& to, const MatmulPolicy& policy);

}  // namespace nb::kernels
