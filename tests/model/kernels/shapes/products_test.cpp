// Matrix products of every layout, packed and not, at every level: each shape with ordinary values
// and with edges, some shapes with every edge in every format.
#include <gtest/gtest.h>

#include "model/kernels/matmul.hpp"
#include "model/kernels/reference/matmul.hpp"
#include "tests/model/kernels/shapes/edges.hpp"
#include "tests/model/kernels/shapes/lists.hpp"

namespace nb::kernels {
namespace {

using test::Array;
using test::kFp32;
using test::Operands;
using test::ProductShape;

const MatmulPolicy kBf16{.output = DType::kFp32};
const MatmulPolicy kBf16Rounded{};

// C by the reference once, by every layout and by packed weights at every level.
void expect_equal(const Operands& x, const MatmulPolicy& policy, bool accumulate,
                  std::size_t turn) {
  const std::int64_t m = x.a.view().rows, n = x.b.view().rows, k = x.a.view().cols;
  const std::int64_t padding = std::array{3, 0, 16, 1}[turn % 4];
  const Array start = test::edged_array(m, n, 3, turn, padding);
  const Array a_by_k = test::transposed(x.a), b_by_k = test::transposed(x.b, padding);
  Array expected = start;
  reference::matmul_nt(x.a.view(), x.b.view(), expected.view(), policy, accumulate);
  test::at_every_level([&] {
    Array nt = start, nn = start, tn = start, packed_nt = start, packed_nn = start;
    matmul_nt(x.a.view(), x.b.view(), nt.view(), policy, accumulate);
    EXPECT_TRUE(test::same_bits(nt, expected)) << "nt";
    matmul_nn(x.a.view(), b_by_k.view(), nn.view(), policy, accumulate);
    EXPECT_TRUE(test::same_bits(nn, expected)) << "nn";
    matmul_tn(a_by_k.view(), b_by_k.view(), tn.view(), policy, accumulate);
    EXPECT_TRUE(test::same_bits(tn, expected)) << "tn";
    matmul_nt(x.a.view(), pack_weight(x.b.view(), policy, PackFor::kNt), packed_nt.view(), policy,
              accumulate);
    EXPECT_TRUE(test::same_bits(packed_nt, expected)) << "packed nt";
    matmul_nn(x.a.view(), pack_weight(b_by_k.view(), policy, PackFor::kNn), packed_nn.view(),
              policy, accumulate);
    EXPECT_TRUE(test::same_bits(packed_nn, expected)) << "packed nn";
  });
  if (testing::Test::HasFailure())
    ADD_FAILURE() << "m " << m << " n " << n << " k " << k << ", " << test::text(policy)
                  << (accumulate ? ", accumulated" : "");
}

TEST(ProductShapes, EqualTheDefinition) {
  std::size_t turn = 0;
  for (const ProductShape& s : test::thinned(test::product_shapes())) {
    for (const MatmulPolicy& policy : {kBf16Rounded, kFp32}) {
      const Operands ordinary{test::random_array(s.m, s.k, 1), test::random_array(s.n, s.k, 2)};
      expect_equal(ordinary, policy, turn % 3 == 0, turn);
      if (HasFailure()) return;
      ++turn;
    }
  }
}

TEST(ProductShapes, EqualTheDefinitionWithEdges) {
  std::size_t turn = 0;
  for (const ProductShape& s : test::thinned(test::product_shapes())) {
    for (int i = 0; i < 3; ++i) {
      const test::ProductEdge& edge = test::product_edges()[turn % test::product_edges().size()];
      SCOPED_TRACE(edge.what);
      const Operands x = test::edged_operands(s.m, s.n, s.k, edge, turn % 2 == 0);
      expect_equal(x, i == 0 ? kFp32 : i == 1 ? kBf16 : kBf16Rounded, turn % 5 == 0, turn);
      if (HasFailure()) return;
      ++turn;
    }
  }
}

// Tails of rows and columns, chains of one, a pair, an odd number and two broken vectors.
TEST(ProductShapes, EveryEdgeInEveryFormat) {
  std::size_t turn = 0;
  for (const auto& [m, n, k] : test::thinned(std::vector<ProductShape>{
           {13, 35, 37}, {1, 17, 1}, {2, 33, 2}, {7, 3, 3}, {8, 64, 18}})) {
    for (const test::ProductEdge& edge : test::product_edges()) {
      SCOPED_TRACE(edge.what);
      for (const bool alone : {false, true}) {
        const Operands x = test::edged_operands(m, n, k, edge, alone);
        for (const MatmulPolicy& policy :
             {kBf16, kBf16Rounded, kFp32,
              MatmulPolicy{.inputs = DType::kFp16, .output = DType::kFp16},
              MatmulPolicy{.inputs = DType::kFp16, .output = DType::kFp16, .fp16_saturates = true},
              MatmulPolicy{.inputs = DType::kTf32, .output = DType::kFp32},
              MatmulPolicy{.inputs = DType::kHf32, .output = DType::kTf32},
              MatmulPolicy{.accumulation = Accumulation::kBlock16},
              MatmulPolicy{.accumulation = Accumulation::kSplitK, .split_k = 2}}) {
          expect_equal(x, policy, turn % 4 == 0, turn);
          ++turn;
          if (HasFailure()) return;
        }
      }
    }
  }
}

TEST(ProductShapes, ChainsHandedOverInBlocksEqualTheWhole) {
  std::size_t turn = 0;
  for (const ProductShape& s : test::thinned(test::product_shapes())) {
    if (s.k < 3 || s.m * s.n == 0) continue;
    const test::ProductEdge& edge = test::product_edges()[turn++ % test::product_edges().size()];
    const Operands x = test::edged_operands(s.m, s.n, s.k, edge, turn % 2 == 0);
    const Array a = test::transposed(x.a), b = test::transposed(x.b);
    const std::int64_t cut = s.k / 2 / 2 * 2;
    for (const MatmulPolicy& policy : {kBf16Rounded, kFp32}) {
      Array expected(s.m, s.n);
      reference::matmul_nt(x.a.view(), x.b.view(), expected.view(), policy, false);
      test::at_every_level([&] {
        Array partial(s.m, s.n, 0), c(s.m, s.n);
        for (const auto& [begin, count] : {std::pair{std::int64_t{0}, cut}, {cut, s.k - cut}}) {
          if (count == 0) continue;
          matmul_tn_block(row_block(a.view(), begin, count), row_block(b.view(), begin, count),
                          partial.view(), policy, begin == 0 || cut == 0);
        }
        matmul_finish(partial.view(), c.view(), policy);
        EXPECT_TRUE(test::same_bits(c, expected)) << s.m << " " << s.n << " " << s.k;
      });
    }
  }
}

}  // namespace
}  // namespace nb::kernels
