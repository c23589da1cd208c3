// Operands in fp32 or as bf16 (tensor/view.hpp): which are allowed, and copies in scratch where a
// kernel computes in fp32 whatever form they have. The table is the caller's: asking for it checks
// the float mode, which waits for all arithmetic at work. Internal to model/kernels; one thread.
#pragma once

#include <initializer_list>

#include "harness/base/check.hpp"
#include "model/kernels/inner/table.hpp"
#include "model/kernels/scratch.hpp"
#include "model/tensor/dtype.hpp"
#include "model/tensor/view.hpp"

namespace nb::kernels {

// Two bytes hold values that are rounded to bf16.
inline void check_forms(const char* op, std::initializer_list<ConstAnyMatrix> all, DType storage) {
  for (const ConstAnyMatrix& m : all) {
    NB_CHECK(m.bf16 == nullptr || storage == DType::kBf16, "[{}] bf16, but storage is {}", op,
             name(storage));
  }
}

// A matrix to read as fp32: itself, or a copy.
class AsFp32 {
 public:
  AsFp32(const inner::Table& table, const ConstAnyMatrix& m) : memory_(bytes(m)) {
    view_ = m.bf16 == nullptr ? m.matrix() : matrix(memory_.floats(), m.rows, m.cols);
    if (m.bf16 == nullptr) return;
    for (std::int64_t i = 0; i < m.rows; ++i) {
      table.from_bf16(m.bf16 + i * m.stride, m.cols, memory_.floats() + i * view_.stride);
    }
  }
  const ConstMatrix& view() const { return view_; }

 private:
  static std::size_t bytes(const ConstAnyMatrix& m) {
    return m.bf16 == nullptr ? 0 : static_cast<std::size_t>(m.rows * m.cols) * sizeof(float);
  }
  Scratch memory_;
  ConstMatrix view_;
};

// A matrix to write as fp32: itself, or a copy that keep() stores as bf16. Its values must be bf16
// numbers then.
class ToFp32 {
 public:
  ToFp32(const inner::Table& table, const AnyMatrix& m)
      : table_(table),
        to_(m),
        memory_(m.bf16 == nullptr ? 0 : static_cast<std::size_t>(m.rows * m.cols) * sizeof(float)) {
    view_ = m.bf16 == nullptr ? Matrix{m.fp32, m.rows, m.cols, m.stride}
                              : matrix(memory_.floats(), m.rows, m.cols);
  }
  const Matrix& view() const { return view_; }
  void keep() const {
    if (to_.bf16 == nullptr) return;
    for (std::int64_t i = 0; i < to_.rows; ++i) {
      table_.to_bf16(view_.row(i), to_.cols, to_.bf16 + i * to_.stride);
    }
  }

 private:
  const inner::Table& table_;
  AnyMatrix to_;
  Scratch memory_;
  Matrix view_;
};

}  // namespace nb::kernels
