// Non-owning views of row-major fp32 matrices: element (i, j) is data[i * stride + j], stride in
// elements. Whoever made the view keeps the memory alive. A tensor (B, T, H, D) is seen as a matrix
// by joining neighbouring dimensions: (B*T, H*D), or (B*T*H, D) when contiguous.
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
// Columns [begin, begin + count) of a view.
inline Matrix column_block(Matrix m, std::int64_t begin, std::int64_t count) {
  return {m.data + begin, m.rows, count, m.stride};
}
inline ConstMatrix column_block(ConstMatrix m, std::int64_t begin, std::int64_t count) {
  return {m.data + begin, m.rows, count, m.stride};
}

}  // namespace nb
