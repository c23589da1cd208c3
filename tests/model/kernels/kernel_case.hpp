// What the kernel tests share: hard inputs, equality to the bit, every level that this host has.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <span>
#include <string>
#include <vector>

#include "model/kernels/policy.hpp"
#include "model/kernels/simd_level.hpp"
#include "model/tensor/view.hpp"

namespace nb::test {

struct ProductShape {
  std::int64_t m, n, k;
};
inline const MatmulPolicy kFp32{.inputs = DType::kFp32, .output = DType::kFp32};
inline constexpr DType kStorages[] = {DType::kFp32, DType::kBf16, DType::kFp16};

// An owned matrix whose rows are padded, so that a kernel that ignores the stride is found out.
class Array {
 public:
  Array(std::int64_t rows, std::int64_t cols, std::int64_t padding = 3);
  Matrix view();
  ConstMatrix view() const;
  std::span<float> memory() { return data_; }
  const std::vector<float>& data() const { return data_; }

 private:
  std::vector<float> data_;
  std::int64_t rows_, cols_, stride_;
};

enum class Values {
  kOrdinary,   // about N(0, 1)
  kBf16,       // the same, bf16-representable
  kFinite,     // mixed with zeros of both signs, denormals, the 2^-56 floor, large finite values
  kNonFinite,  // mixed with infinities and NaN as well
};
// The padding is NaN: a kernel that reads and uses it is found out.
Array random_array(std::int64_t rows, std::int64_t cols, std::uint64_t seed,
                   Values values = Values::kOrdinary, std::int64_t padding = 3);
std::vector<float> random_vector(std::size_t size, std::uint64_t seed,
                                 Values values = Values::kOrdinary);
std::vector<int> random_ids(std::size_t size, int below, std::uint64_t seed);

// Equal bits, any NaN equal to any other; the failure names the first bad index and both values.
testing::AssertionResult same_bits(std::span<const float> actual, std::span<const float> expected);
testing::AssertionResult same_bits(const Array& actual, const Array& expected);

// Runs body at every available level with each number of threads, inside a SCOPED_TRACE, and
// restores both.
void at_every_level(const std::function<void()>& body,
                    std::initializer_list<int> thread_counts = {1, 2});

std::vector<PointwisePolicy> pointwise_policies();  // storage formats × eager and fused
std::string text(const PointwisePolicy& policy);
std::string text(const MatmulPolicy& policy);

}  // namespace nb::test
