// Products of views that lie in a field of NaN: one value read beyond a row or a view and used,
// even times zero, is seen; so is one written there.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <span>
#include <vector>

#include "model/kernels/matmul.hpp"
#include "tests/model/kernels/kernel_case.hpp"

namespace nb::kernels {
namespace {

using test::Array;

// A copy of x with three rows of NaN before and behind, and columns of it on both sides.
class Walled {
 public:
  explicit Walled(const Array& x)
      : rows_(x.view().rows),
        cols_(x.view().cols),
        data_(static_cast<std::size_t>((rows_ + 6) * stride()),
              std::numeric_limits<float>::quiet_NaN()) {
    for (std::int64_t i = 0; i < rows_; ++i)
      for (std::int64_t j = 0; j < cols_; ++j) view().row(i)[j] = x.view().row(i)[j];
  }
  Matrix view() { return {data_.data() + 3 * stride() + kLeft, rows_, cols_, stride()}; }
  // Values that are no longer NaN around the view.
  std::int64_t written_outside() {
    std::int64_t count = -rows_ * cols_;
    for (const float value : data_) count += std::isnan(value) ? 0 : 1;
    return count;
  }

 private:
  static constexpr std::int64_t kLeft = 5, kRight = 34;
  std::int64_t stride() const { return kLeft + cols_ + kRight; }
  std::int64_t rows_, cols_;
  std::vector<float> data_;
};

testing::AssertionResult same_values(ConstMatrix actual, ConstMatrix expected) {
  for (std::int64_t i = 0; i < actual.rows; ++i) {
    const auto same =
        test::same_bits(std::span(actual.row(i), static_cast<std::size_t>(actual.cols)),
                        std::span(expected.row(i), static_cast<std::size_t>(actual.cols)));
    if (!same) return testing::AssertionFailure() << "row " << i << ", " << same.message();
  }
  return testing::AssertionSuccess();
}

// The same product of plain arrays and of walled views.
template <class Product>
void expect_bounded(const Array& a, const Array& b, const Array& start, const Product& product) {
  Array plain = start;
  product(a.view(), b.view(), plain.view());
  Walled left(a), right(b), c(start);
  product(left.view(), right.view(), c.view());
  EXPECT_TRUE(same_values(c.view(), plain.view()));
  EXPECT_EQ(c.written_outside(), 0);
}

// Chains that end within a pair, a vector, a block of rows (256 steps) and a stage (four of them).
constexpr std::int64_t kChains[] = {1, 2, 3, 15, 31, 33, 255, 257, 511, 513, 1027, 2049};
constexpr std::int64_t kRowCounts[] = {1, 7, 35};

void expect_all_bounded(std::int64_t m, std::int64_t n, std::int64_t k, const MatmulPolicy& policy,
                        bool accumulate) {
  SCOPED_TRACE(testing::Message() << "m " << m << " n " << n << " k " << k << " "
                                  << test::text(policy) << " accumulate " << accumulate);
  const Array a = test::random_array(m, k, 1), a_by_k = test::random_array(k, m, 1);
  const Array b = test::random_array(n, k, 2), b_by_k = test::random_array(k, n, 2);
  const Array start = test::random_array(m, n, 3);
  expect_bounded(a, b, start, [&](ConstMatrix x, ConstMatrix y, Matrix c) {
    matmul_nt(x, y, c, policy, accumulate);
  });
  expect_bounded(a, b_by_k, start, [&](ConstMatrix x, ConstMatrix y, Matrix c) {
    matmul_nn(x, y, c, policy, accumulate);
  });
  expect_bounded(a_by_k, b_by_k, start, [&](ConstMatrix x, ConstMatrix y, Matrix c) {
    matmul_tn(x, y, c, policy, accumulate);
  });
  expect_bounded(a, b, start, [&](ConstMatrix x, ConstMatrix y, Matrix c) {
    matmul_nt(x, pack_weight(y, policy, PackFor::kNt), c, policy, accumulate);
  });
  expect_bounded(a, b_by_k, start, [&](ConstMatrix x, ConstMatrix y, Matrix c) {
    matmul_nn(x, pack_weight(y, policy, PackFor::kNn), c, policy, accumulate);
  });
  expect_bounded(a, a, Array(m, m),
                 [&](ConstMatrix x, ConstMatrix, Matrix c) { matmul_gram(x, c, policy); });
}

TEST(ViewBounds, NothingBeyondAnOperandIsReadAndNothingBesideTheResultWritten) {
  test::at_every_level([&] {
    std::size_t turn = 0;
    for (const std::int64_t k : kChains) {
      const std::int64_t m = kRowCounts[turn % 3], n = turn % 2 == 0 ? 33 : 64;
      for (const DType inputs : {DType::kBf16, DType::kFp32})
        expect_all_bounded(m, n, k, {.inputs = inputs}, turn % 2 == 1);
      ++turn;
    }
  });
}

TEST(ViewBounds, AlsoWhereChainsAreCutIntoParts) {
  test::at_every_level([&] {
    for (const std::int64_t k : {17, 31, 261}) {
      expect_all_bounded(13, 40, k, {.accumulation = Accumulation::kBlock16}, false);
      expect_all_bounded(13, 40, k, {.accumulation = Accumulation::kSplitK, .split_k = 3}, false);
    }
  });
}

TEST(ViewBounds, ABlockOfAChainReadsItsOwnRowsOnly) {
  const Array a = test::random_array(95, 21, 1), b = test::random_array(95, 37, 2);
  for (const DType inputs : {DType::kBf16, DType::kFp32}) {
    const MatmulPolicy policy{.inputs = inputs};
    test::at_every_level([&] {
      expect_bounded(a, b, Array(21, 37), [&](ConstMatrix x, ConstMatrix y, Matrix c) {
        Array partial(21, 37);
        matmul_tn_block(row_block(x, 0, 62), row_block(y, 0, 62), partial.view(), policy, true);
        matmul_tn_block(row_block(x, 62, 33), row_block(y, 62, 33), partial.view(), policy, false);
        matmul_finish(partial.view(), c, policy);
      });
    });
  }
}

}  // namespace
}  // namespace nb::kernels
