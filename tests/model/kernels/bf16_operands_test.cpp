// Operands and results as bf16: the bits of the same numbers in fp32.
#include <gtest/gtest.h>

#include <cmath>

#include "harness/base/check.hpp"
#include "model/kernels/matmul.hpp"
#include "model/kernels/reference/elementwise.hpp"
#include "model/kernels/reference/matmul.hpp"
#include "model/kernels/relu_squared.hpp"
#include "model/tensor/dtype.hpp"
#include "tests/model/kernels/both_forms.hpp"
#include "tests/model/kernels/kernel_case.hpp"

namespace nb::kernels {
namespace {

using test::Array;
using test::BothForms;
using test::ProductShape;
using test::Values;

constexpr ProductShape kShapes[] = {
    {1, 1, 1},      {3, 17, 5},     {6, 16, 16},    {12, 32, 33},   {13, 31, 64},   {11, 33, 63},
    {25, 70, 47},   {2, 129, 255},  {97, 48, 130},  {96, 64, 512},  {14, 40, 1031}, {200, 96, 1100},
    {20, 64, 1600}, {70, 45, 1537}, {33, 48, 2051}, {40, 544, 1029}};

TEST(Bf16Matrix, ProductsOfThemEqualTheDefinition) {
  for (const ProductShape& s : kShapes) {
    for (const Values values : {Values::kFinite, Values::kNonFinite}) {
      SCOPED_TRACE(testing::Message() << "m " << s.m << " n " << s.n << " k " << s.k);
      const MatmulPolicy policy{.output = s.k % 2 == 0 ? DType::kBf16 : DType::kFp32};
      BothForms a(s.m, s.k, 1, values), at(s.k, s.m, 2, values), b(s.k, s.n, 3, values);
      const Array by_rows = test::random_array(s.n, s.k, 4, values);
      const Array start = test::random_array(s.m, s.n, 5);
      Array nt = start, nn = start, tn = start;
      reference::matmul_nt(a.fp32.view(), by_rows.view(), nt.view(), policy, true);
      reference::matmul_nn(a.fp32.view(), b.fp32.view(), nn.view(), policy, false);
      reference::matmul_tn(at.fp32.view(), b.fp32.view(), tn.view(), policy, true);
      test::at_every_level([&] {
        Array actual = start;
        matmul_nt(a.two_bytes(), pack_weight(by_rows.view(), policy, PackFor::kNt), actual.view(),
                  policy, true);
        EXPECT_TRUE(test::same_bits(actual, nt));
        actual = start;
        matmul_nn(a.two_bytes(), pack_weight(b.fp32.view(), policy, PackFor::kNn), actual.view(),
                  policy, false);
        EXPECT_TRUE(test::same_bits(actual, nn));
        for (const bool left : {true, false}) {
          for (const bool right : {true, false}) {
            actual = start;
            matmul_tn(left ? ConstAnyMatrix(at.two_bytes()) : ConstAnyMatrix(at.fp32.view()),
                      right ? ConstAnyMatrix(b.two_bytes()) : ConstAnyMatrix(b.fp32.view()),
                      actual.view(), policy, true);
            EXPECT_TRUE(test::same_bits(actual, tn)) << left << right;
          }
        }
      });
    }
  }
}

TEST(Bf16Matrix, AProductByBlocksIsTheWholeProduct) {
  for (const ProductShape& s : {ProductShape{1, 1, 1},
                                {7, 33, 0},
                                {97, 48, 130},
                                {300, 70, 47},
                                {95, 600, 1030},
                                {130, 1100, 5}}) {
    for (const Accumulation accumulation : {Accumulation::kChain, Accumulation::kSplitK}) {
      SCOPED_TRACE(testing::Message() << "m " << s.m << " n " << s.n << " k " << s.k);
      const MatmulPolicy policy{.accumulation = accumulation, .split_k = 3};
      const Array a = test::random_array(s.m, s.k, 1, Values::kFinite);
      const Array nt = test::random_array(s.n, s.k, 2), nn = test::random_array(s.k, s.n, 3);
      test::at_every_level([&] {
        for (const bool by_rows : {true, false}) {
          const ConstMatrix w = by_rows ? nt.view() : nn.view();
          const PackedMatrix packed = pack_weight(w, policy, by_rows ? PackFor::kNt : PackFor::kNn);
          Array expected(s.m, s.n), actual(s.m, s.n);
          // What no block brings stays NaN, what two bring is added twice.
          for (float& value : actual.memory()) value = -0.0f;
          if (by_rows) {
            matmul_nt(a.view(), packed, expected.view(), policy);
          } else {
            matmul_nn(a.view(), packed, expected.view(), policy);
          }
          const AfterBlock take = [&](const ProductBlock& block) {
            ASSERT_EQ(block.values.rows, block.rows);
            ASSERT_EQ(block.values.cols, block.cols);
            for (std::int64_t i = 0; i < block.rows; ++i) {
              for (std::int64_t j = 0; j < block.cols; ++j) {
                float& value = actual.view().row(block.row + i)[block.col + j];
                ASSERT_TRUE(std::signbit(value) && value == 0.0f) << "twice";
                value = block.values.row(i)[j];
              }
            }
          };
          (by_rows ? matmul_nt_blocks : matmul_nn_blocks)(a.view(), packed, policy, take);
          for (std::int64_t i = 0; i < s.m; ++i) {
            const auto n = static_cast<std::size_t>(s.n);
            ASSERT_TRUE(test::same_bits({actual.view().row(i), n}, {expected.view().row(i), n}));
          }
        }
      });
    }
  }
}

// Of a block in the middle of larger matrices.
TEST(Bf16Matrix, ReluSquaredOfABlockEqualsItsDefinition) {
  constexpr std::int64_t kRow = 2, kCol = 3, kRows = 5;
  for (const std::int64_t cols : {1, 15, 16, 17, 31, 128, 131, 290}) {
    for (const Values values : {Values::kBf16, Values::kFinite, Values::kNonFinite}) {
      SCOPED_TRACE(testing::Message() << cols << " columns");
      BothForms x(kRows, cols, 1, values), dy(kRows, cols, 2, values);
      Array h(kRows, cols), dx(kRows, cols);
      reference::relu_squared(x.fp32.view(), h.view(), DType::kBf16);
      reference::relu_squared_backward(dy.fp32.view(), x.fp32.view(), dx.view(), DType::kBf16);
      const auto block = [&](Array& of) {
        return ProductBlock{kRow, kRows, kCol, cols, of.view()};
      };
      test::at_every_level([&] {
        const BothForms blank(kRow + kRows + 1, kCol + cols + 2, 3, Values::kBf16);
        BothForms kept = blank, out = blank, gradient = blank;
        relu_squared_block(block(x.fp32), kept.two_bytes(), out.two_bytes());
        relu_squared_backward_block(block(dy.fp32), kept.two_bytes(), gradient.two_bytes());
        const auto expect = [&](BothForms& actual, const Array& expected, const char* what) {
          for (std::int64_t i = 0; i < actual.two_bytes().rows; ++i) {
            for (std::int64_t j = 0; j < actual.two_bytes().cols; ++j) {
              const bool inside = i >= kRow && i < kRow + kRows && j >= kCol && j < kCol + cols;
              const float value =
                  inside ? expected.view().row(i - kRow)[j - kCol] : blank.fp32.view().row(i)[j];
              const std::uint16_t half = test::upper_16_bits(value);
              const float got = test::from_bf16(actual.two_bytes().row(i)[j]);
              ASSERT_TRUE(actual.two_bytes().row(i)[j] == half ||
                          (std::isnan(got) && std::isnan(value)))
                  << what << " " << i << "," << j << ": " << got << ", expected " << value;
            }
          }
        };
        expect(kept, x.fp32, "x");
        expect(out, h, "h");
        expect(gradient, dx, "dx");
        BothForms alone = blank;
        relu_squared_block(block(x.fp32), {}, alone.two_bytes());
        EXPECT_EQ(alone.memory, out.memory);
      });
    }
  }
}

TEST(Bf16Matrix, AreNumbersOfBf16ProductsAlone) {
  BothForms a(4, 6, 1, Values::kBf16), b(4, 3, 2, Values::kBf16);
  Array c(6, 3);
  const MatmulPolicy fp32{.inputs = DType::kFp32, .output = DType::kFp32};
  EXPECT_THROW(matmul_tn(a.two_bytes(), b.fp32.view(), c.view(), fp32), CheckFailure);
  EXPECT_THROW(matmul_tn(a.fp32.view(), b.two_bytes(), c.view(), fp32), CheckFailure);
  Array d(4, 3);
  const Array w = test::random_array(3, 6, 3);
  const PackedMatrix packed = pack_weight(w.view(), fp32, PackFor::kNt);
  EXPECT_THROW(matmul_nt(a.two_bytes(), packed, d.view(), fp32), CheckFailure);
}

}  // namespace
}  // namespace nb::kernels
