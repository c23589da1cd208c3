// Keys or values of consecutive positions, as attention reads them: fp32 numbers, or bf16
// numbers in two bytes each. The latter are for policies whose inputs are bf16; there both give the
// same bits. Those of a cache are rounded for products, below 2^-56 to zero, which is where
// decoding reads them as they are.
#pragma once

#include <cstdint>
#include <span>

#include "model/kernels/policy.hpp"
#include "model/tensor/view.hpp"

namespace nb::kernels {

// Value d of head h in row j lies at j · stride + h · head_stride + d. Non-owning; one of the
// pointers is null (both on a dry device).
struct KeyRows {
  const float* fp32 = nullptr;
  const std::uint16_t* bf16 = nullptr;
  std::int64_t rows = 0;
  std::int64_t cols = 0;         // of all heads
  std::int64_t stride = 0;       // in values
  std::int64_t head_stride = 0;  // 0: a head's values lie behind those of the one before

  KeyRows() = default;
  // NOLINTBEGIN(google-explicit-constructor): a matrix is rows of keys
  KeyRows(ConstMatrix m) : fp32(m.data), rows(m.rows), cols(m.cols), stride(m.stride) {}
  KeyRows(Matrix m) : KeyRows(ConstMatrix(m)) {}
  KeyRows(const ConstAnyMatrix& m)
      : fp32(m.fp32), bf16(m.bf16), rows(m.rows), cols(m.cols), stride(m.stride) {}
  // NOLINTEND(google-explicit-constructor)

  bool same_place(const KeyRows& other) const {
    return fp32 == other.fp32 && bf16 == other.bf16 && rows == other.rows &&
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
    if (bf16 != nullptr) return bf16 + j * stride;
    return fp32 + j * stride;
  }
  // From one row to the next.
  std::int64_t stride_bytes() const {
    const std::size_t value = bf16 != nullptr ? sizeof *bf16 : sizeof *fp32;
    return stride * static_cast<std::int64_t>(value);
  }
  // Values of row j of one head as fp32.
  void copy_row(std::int64_t j, float* to) const;

 private:
  KeyRows moved(std::int64_t values) const {
    KeyRows some = *this;
    if (fp32 != nullptr) some.fp32 += values;
    if (bf16 != nullptr) some.bf16 += values;
    return some;
  }
};

// Where such rows go; meanings as in KeyRows.
struct KeySpace {
  float* fp32 = nullptr;
  std::uint16_t* bf16 = nullptr;
  std::int64_t stride = 0;
  std::int64_t head_stride = 0;
  std::int64_t head_dim = 0;

  KeySpace behind(std::int64_t rows) const {
    KeySpace rest = *this;
    if (fp32 != nullptr) rest.fp32 += rows * stride;
    if (bf16 != nullptr) rest.bf16 += rows * stride;
    return rest;
  }
};

// values: (rows, heads · head_dim). NB_CHECK: bf16 only where the policy has them.
void store_keys(ConstMatrix values, const KeySpace& to, const MatmulPolicy& policy);

// Rows of k and v that follow one another, and where they go.
struct KeyRun {
  std::int64_t first_row = 0;
  std::int64_t rows = 0;
  KeySpace keys, values;
};
// k, v: (rows, heads · head_dim). runs: ascending, none overlap; rows of none go nowhere.
void store_keys(ConstMatrix k, ConstMatrix v, std::span<const KeyRun> runs,
                const MatmulPolicy& policy);

}  // namespace nb::kernels
