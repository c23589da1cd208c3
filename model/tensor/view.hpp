// Non-owning views of row-major matrices, fp32 where nothing else is said: element (i, j) is data[i
// * stride + j], stride in elements. Whoever made the view keeps the memory alive. A tensor (B, T,
// H, D) is seen as a matrix by joining neighbouring dimensions: (B*T, H*D), or (B*T*H, D) when
// contiguous.
#pragma once

#include <cstdint>

namespace nb {

struct ConstMatrix {
  const float* data = nullptr;
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  std::int64_t stride = 0;  // >= cols

  const float* row(std::int64_t i) const { return data + i * stride; }
  bool is_contiguous() const { return stride == cols || rows <= 1; }
  std::int64_t size() const { return rows * cols; }
};

struct Matrix {
  float* data = nullptr;
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  std::int64_t stride = 0;

  float* row(std::int64_t i) const { return data + i * stride; }
  bool is_contiguous() const { return stride == cols || rows <= 1; }
  std::int64_t size() const { return rows * cols; }
  // NOLINTNEXTLINE(google-explicit-constructor): a Matrix is a ConstMatrix
  operator ConstMatrix() const { return {data, rows, cols, stride}; }
};

// bf16 numbers in two bytes each.
struct Bf16Matrix {
  std::uint16_t* data = nullptr;
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  std::int64_t stride = 0;

  std::uint16_t* row(std::int64_t i) const { return data + i * stride; }
};

// A matrix to read, of fp32 values or of bf16 numbers; the other pointer is null.
struct ConstAnyMatrix {
  const float* fp32 = nullptr;
  const std::uint16_t* bf16 = nullptr;
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  std::int64_t stride = 0;

  ConstAnyMatrix() = default;
  // NOLINTBEGIN(google-explicit-constructor): each of them is one
  ConstAnyMatrix(ConstMatrix m) : fp32(m.data), rows(m.rows), cols(m.cols), stride(m.stride) {}
  ConstAnyMatrix(Matrix m) : ConstAnyMatrix(ConstMatrix(m)) {}
  ConstAnyMatrix(Bf16Matrix m) : bf16(m.data), rows(m.rows), cols(m.cols), stride(m.stride) {}
  // NOLINTEND(google-explicit-constructor)

  std::int64_t value_bytes() const { return bf16 != nullptr ? 2 : 4; }
  const void* at(std::int64_t row, std::int64_t col) const {
    if (bf16 != nullptr) return bf16 + row * stride + col;
    return fp32 + row * stride + col;
  }
  ConstMatrix matrix() const { return {fp32, rows, cols, stride}; }  // where they are fp32
};

// A matrix to write, likewise.
struct AnyMatrix {
  float* fp32 = nullptr;
  std::uint16_t* bf16 = nullptr;
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  std::int64_t stride = 0;

  AnyMatrix() = default;
  // NOLINTBEGIN(google-explicit-constructor): as above
  AnyMatrix(Matrix m) : fp32(m.data), rows(m.rows), cols(m.cols), stride(m.stride) {}
  AnyMatrix(Bf16Matrix m) : bf16(m.data), rows(m.rows), cols(m.cols), stride(m.stride) {}
  operator ConstAnyMatrix() const {
    ConstAnyMatrix same;
    same.fp32 = fp32, same.bf16 = bf16;
    same.rows = rows, same.cols = cols, same.stride = stride;
    return same;
  }
  // NOLINTEND(google-explicit-constructor)
};

inline Matrix matrix(float* data, std::int64_t rows, std::int64_t cols) {
  return {data, rows, cols, cols};
}
inline ConstMatrix matrix(const float* data, std::int64_t rows, std::int64_t cols) {
  return {data, rows, cols, cols};
}
// Rows [begin, begin + count) of a view.
inline Matrix row_block(Matrix m, std::int64_t begin, std::int64_t count) {
  return {m.data + begin * m.stride, count, m.cols, m.stride};
}
inline ConstMatrix row_block(ConstMatrix m, std::int64_t begin, std::int64_t count) {
  return {m.data + begin * m.stride, count, m.cols, m.stride};
}
// Of both forms.
template <class View>
requires requires(View m) { m.bf16; }
View row_block(View m, std::int64_t begin, std::int64_t count) {
  if (m.fp32 != nullptr) m.fp32 += begin * m.stride;
  if (m.bf16 != nullptr) m.bf16 += begin * m.stride;
  m.rows = count;
  return m;
}
// Columns [begin, begin + count) of a view.
inline Matrix column_block(Matrix m, std::int64_t begin, std::int64_t count) {
  return {m.data + begin, m.rows, count, m.stride};
}
inline ConstMatrix column_block(ConstMatrix m, std::int64_t begin, std::int64_t count) {
  return {m.data + begin, m.rows, count, m.stride};
}
template <class View>
requires requires(View m) { m.bf16; }
View column_block(View m, std::int64_t begin, std::int64_t count) {
  if (m.fp32 != nullptr) m.fp32 += begin;
  if (m.bf16 != nullptr) m.bf16 += begin;
  m.cols = count;
  return m;
}

}  // namespace nb
