// bf16 numbers as kernels may be given them: in fp32 and as bf16.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include "model/tensor/dtype.hpp"
#include "tests/model/kernels/kernel_case.hpp"

namespace nb::test {

inline std::uint16_t upper_16_bits(float x) {
  return static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(x) >> 16);
}
inline float from_bf16(std::uint16_t x) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(x) << 16);
}

// The padding of the bf16 rows is NaN.
struct BothForms {
  BothForms(std::int64_t rows, std::int64_t cols, std::uint64_t seed, Values values)
      : BothForms(random_array(rows, cols, seed, values)) {}
  explicit BothForms(Array rounded)  // and rounds it
      : fp32(std::move(rounded)) {
    const Matrix m = fp32.view();
    memory.assign(static_cast<std::size_t>(m.rows * (m.cols + 5)), 0x7fc0);
    for (std::int64_t i = 0; i < m.rows; ++i) {
      for (std::int64_t j = 0; j < m.cols; ++j) {
        m.row(i)[j] = round_to(DType::kBf16, m.row(i)[j]);
        two_bytes().row(i)[j] = upper_16_bits(m.row(i)[j]);
      }
    }
  }
  Bf16Matrix two_bytes() {
    const ConstMatrix m = std::as_const(fp32).view();
    return {memory.data(), m.rows, m.cols, m.cols + 5};
  }
  // What a kernel wrote.
  AnyMatrix to(bool in_bf16) { return in_bf16 ? AnyMatrix(two_bytes()) : AnyMatrix(fp32.view()); }
  ConstAnyMatrix from(bool in_bf16) {
    return in_bf16 ? ConstAnyMatrix(two_bytes()) : ConstAnyMatrix(fp32.view());
  }
  Array fp32;
  std::vector<std::uint16_t> memory;
};

// What a kernel wrote into one form, against fp32 values; the padding is untouched.
inline testing::AssertionResult holds(BothForms& actual, bool in_bf16, ConstMatrix expected) {
  for (std::int64_t i = 0; i < expected.rows; ++i) {
    for (std::int64_t j = 0; j < expected.cols; ++j) {
      const float want = expected.row(i)[j];
      const float got =
          in_bf16 ? from_bf16(actual.two_bytes().row(i)[j]) : actual.fp32.view().row(i)[j];
      const bool same = std::bit_cast<std::uint32_t>(got) == std::bit_cast<std::uint32_t>(want);
      if (!same && !(std::isnan(got) && std::isnan(want))) {
        return testing::AssertionFailure()
               << "(" << i << "," << j << ") is " << got << ", expected " << want;
      }
    }
    const Bf16Matrix h = actual.two_bytes();
    for (std::int64_t j = h.cols; j < h.stride; ++j) {
      if (h.row(i)[j] != 0x7fc0) return testing::AssertionFailure() << "padding of row " << i;
    }
  }
  return testing::AssertionSuccess();
}

}  // namespace nb::test
