#include "model/kernels/matmul.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <bit>
#include <chrono>
#include <functional>
#include <limits>
#include <thread>

#include "harness/base/check.hpp"
#include "harness/base/parallel.hpp"
#include "model/kernels/reference/matmul.hpp"
#include "model/tensor/dtype.hpp"
#include "tests/model/kernels/kernel_case.hpp"

namespace nb::kernels {
namespace {

using test::Array;
using test::ProductShape;
using test::Values;

using Product = void (*)(ConstMatrix, ConstMatrix, Matrix, const MatmulPolicy&, bool);
void tn(ConstMatrix a, ConstMatrix b, Matrix c, const MatmulPolicy& policy, bool accumulate) {
  matmul_tn(a, b, c, policy, accumulate);
}
struct Layout {
  const char* name;
  Product fast, naive;
  bool a_by_k, b_by_k;  // stored with k as the row
};
constexpr Layout kLayouts[] = {
    {"nt", matmul_nt, reference::matmul_nt, false, false},
    {"nn", matmul_nn, reference::matmul_nn, false, true},
    {"tn", tn, reference::matmul_tn, true, true},
};

void expect_equal(const Layout& layout, const ProductShape& s, const MatmulPolicy& policy,
                  Values values, bool accumulate = false) {
  SCOPED_TRACE(testing::Message() << layout.name << " m " << s.m << " n " << s.n << " k " << s.k
                                  << " " << test::text(policy) << " accumulate " << accumulate);
  const Array a = layout.a_by_k ? test::random_array(s.k, s.m, 1, values)
                                : test::random_array(s.m, s.k, 1, values);
  const Array b = layout.b_by_k ? test::random_array(s.k, s.n, 2, values)
                                : test::random_array(s.n, s.k, 2, values);
  const Array start = test::random_array(s.m, s.n, 3);
  Array expected = start;
  layout.naive(a.view(), b.view(), expected.view(), policy, accumulate);
  test::at_every_level([&] {
    Array actual = start;
    layout.fast(a.view(), b.view(), actual.view(), policy, accumulate);
    EXPECT_TRUE(test::same_bits(actual, expected));
  });
}

constexpr ProductShape kAwkward[] = {{1, 1, 1},     {1, 16, 2},   {3, 17, 5},   {6, 16, 16},
                                     {12, 32, 33},  {13, 31, 64}, {11, 33, 63}, {25, 70, 47},
                                     {2, 129, 255}, {97, 48, 130}};

TEST(Matmul, EqualsItsDefinitionOverAwkwardShapes) {
  for (const Layout& layout : kLayouts) {
    for (const ProductShape& shape : kAwkward) {
      expect_equal(layout, shape, {}, Values::kOrdinary);
      expect_equal(layout, shape, {.inputs = DType::kFp32, .output = DType::kFp32},
                   Values::kOrdinary);
    }
  }
}

TEST(Matmul, EqualsItsDefinitionWhereTheChainIsCutIntoBlocks) {
  for (const Layout& layout : kLayouts) {
    expect_equal(layout, {14, 40, 1031}, {.output = DType::kFp32}, Values::kOrdinary);
    expect_equal(layout, {14, 40, 1031}, {.inputs = DType::kFp32, .output = DType::kFp32},
                 Values::kOrdinary);
  }
  expect_equal(kLayouts[0], {110, 1100, 20}, {}, Values::kOrdinary);
}

TEST(Matmul, EqualsItsDefinitionOverLongChains) {
  for (const std::int64_t k : {512, 513, 1030, 2051}) {
    for (const DType inputs : {DType::kBf16, DType::kFp32}) {
      const MatmulPolicy policy{.inputs = inputs};
      expect_equal(kLayouts[2], {5, 19, k}, policy, Values::kFinite, true);
      expect_equal(kLayouts[2], {33, 48, k}, policy, Values::kOrdinary);
    }
  }
}

// product writes C.
void expect_of_any_threads(const Array& expected, const std::function<void(Matrix)>& product) {
  test::at_every_level(
      [&] {
        Array actual(expected.view().rows, expected.view().cols);
        product(actual.view());
        EXPECT_TRUE(test::same_bits(actual, expected));
      },
      {1, 2, 5});
}

TEST(Matmul, TasksThatMakePanelsForEachOtherChangeNoBit) {
  // Several tasks and blocks of the chain; whole panels and broken ones, whole steps and half ones.
  for (const ProductShape& s : {ProductShape{200, 64, 1100},
                                {200, 96, 1100},
                                {20, 64, 1600},
                                {70, 45, 1537},
                                {40, 544, 1029}}) {
    for (const DType inputs : {DType::kBf16, DType::kFp32}) {
      // Tiles of few steps end before they have made their panels.
      const Accumulation accumulation = s.n == 64 ? Accumulation::kBlock16 : Accumulation::kChain;
      const MatmulPolicy policy{
          .inputs = inputs, .accumulation = accumulation, .output = DType::kFp32};
      const Array a = test::random_array(s.k, s.m, 1, Values::kFinite);
      const Array b = test::random_array(s.k, s.n, 2, Values::kFinite);
      Array expected(s.m, s.n);
      reference::matmul_tn(a.view(), b.view(), expected.view(), policy);
      SCOPED_TRACE(s.n);
      expect_of_any_threads(expected, [&](Matrix c) { matmul_tn(a.view(), b.view(), c, policy); });
    }
  }
}

// Of 96 rows and fewer, in the tallest product of several stages; the last piece whole or broken.
TEST(Matmul, TasksThatShrinkTowardsTheEndChangeNoBit) {
  for (const ProductShape& s :
       {ProductShape{384, 33, 9}, {385, 32, 130}, {611, 70, 600}, {6200, 17, 34}}) {
    const MatmulPolicy policy;
    const Array a = test::random_array(s.m, s.k, 1), b = test::random_array(s.n, s.k, 2);
    Array expected(s.m, s.n);
    reference::matmul_nt(a.view(), b.view(), expected.view(), policy);
    SCOPED_TRACE(s.m);
    expect_of_any_threads(expected, [&](Matrix c) { matmul_nt(a.view(), b.view(), c, policy); });
  }
}

// 16 tasks of 96 rows, half of them each thread's. The first one prepares the second while it
// multiplies, and waits until the other thread has taken that one; then it takes a later one.
TEST(Matmul, ATaskPreparedInVainLeavesTheNextOneRight) {
  constexpr std::int64_t kRows = 96, kTasks = 16, n = 32, k = 128;
  const MatmulPolicy policy;
  const Array a = test::random_array(kTasks * kRows, k, 1), b = test::random_array(n, k, 2);
  Array expected(kTasks * kRows, n), actual(kTasks * kRows, n);
  reference::matmul_nt(a.view(), b.view(), expected.view(), policy);
  std::atomic<bool> second_taken{false}, later_taken{false}, in_vain{false};
  const auto wait_for = [&](const std::atomic<bool>& flag) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (!flag && std::chrono::steady_clock::now() < deadline) std::this_thread::yield();
    if (!flag) in_vain = true;
  };
  const std::thread::id first = std::this_thread::get_id();
  const AfterBlock after = [&](const ProductBlock& block) {
    const bool is_first = std::this_thread::get_id() == first;
    if (block.row == 0) return wait_for(second_taken);
    if (block.row == kRows) second_taken = true;
    if (!second_taken || block.row >= kTasks / 2 * kRows) return;
    if (is_first)
      later_taken = true;
    else if (block.row > kRows)
      wait_for(later_taken);
  };
  set_threads(2);
  matmul_nt(a.view(), pack_weight(b.view(), policy, PackFor::kNt), actual.view(), policy, false,
            after);
  set_threads(0);
  EXPECT_FALSE(in_vain);
  EXPECT_TRUE(test::same_bits(actual, expected));
}

TEST(Matmul, EqualsItsDefinitionOnHardValues) {
  for (const Layout& layout : kLayouts) {
    for (const DType inputs :
         {DType::kBf16, DType::kFp32, DType::kFp16, DType::kTf32, DType::kHf32}) {
      for (const Values values : {Values::kFinite, Values::kNonFinite}) {
        for (const std::int64_t k : {3, 8}) {
          expect_equal(layout, {19, 37, k}, {.inputs = inputs, .output = DType::kFp32}, values);
        }
      }
    }
  }
}

TEST(Matmul, RoundsTheOutputAndAddsItToCInFp32) {
  for (const DType output :
       {DType::kBf16, DType::kFp32, DType::kFp16, DType::kTf32, DType::kHf32}) {
    for (const bool accumulate : {false, true}) {
      expect_equal(kLayouts[0], {13, 35, 20}, {.output = output}, Values::kFinite, accumulate);
    }
  }
  expect_equal(kLayouts[2], {13, 35, 20}, {.output = DType::kFp16, .fp16_saturates = true},
               Values::kNonFinite);
}

// Other tests take any NaN for any other; a checkpoint's hash does not.
TEST(Matmul, ANaNThatIsRoundedToBf16IsTheCanonicalOne) {
  const float infinity = std::numeric_limits<float>::infinity();
  const float canonical = round_to(DType::kBf16, std::numeric_limits<float>::quiet_NaN());
  for (const Layout& layout : kLayouts) {
    Array a(layout.a_by_k ? 8 : 24, layout.a_by_k ? 24 : 8),
        b(layout.b_by_k ? 8 : 64, layout.b_by_k ? 64 : 8);
    for (float& v : a.memory()) v = 0.0f;
    for (float& v : b.memory()) v = -infinity;
    test::at_every_level([&] {
      Array c(24, 64);
      layout.fast(a.view(), b.view(), c.view(), {}, false);
      for (std::int64_t i = 0; i < 24; ++i) {
        for (std::int64_t j = 0; j < 64; ++j) {
          ASSERT_EQ(std::bit_cast<std::uint32_t>(c.view().row(i)[j]),
                    std::bit_cast<std::uint32_t>(canonical))
              << layout.name << " " << i << "," << j;
        }
      }
    });
  }
}

TEST(Matmul, OtherAccumulationOrdersEqualTheirDefinitions) {
  for (const Layout& layout : kLayouts) {
    for (const DType inputs : {DType::kBf16, DType::kFp32}) {
      for (const std::int64_t k : {5, 16, 70, 600}) {
        MatmulPolicy policy{
            .inputs = inputs, .accumulation = Accumulation::kBlock16, .output = DType::kFp32};
        expect_equal(layout, {13, 33, k}, policy, Values::kOrdinary);
        policy.accumulation = Accumulation::kSplitK;
        for (const int parts : {1, 3, 8}) {
          policy.split_k = parts;
          expect_equal(layout, {13, 33, k}, policy, Values::kOrdinary);
        }
      }
    }
  }
}

TEST(Matmul, AnEmptyChainIsZero) {
  const Array a(3, 0), b(5, 0);
  test::at_every_level([&] {
    Array c = test::random_array(3, 5, 1);
    matmul_nt(a.view(), b.view(), c.view(), {});
    for (int i = 0; i < 3; ++i) EXPECT_EQ(c.view().row(i)[4], 0.0f);
  });
}

TEST(Matmul, ARowDoesNotDependOnItsNeighbours) {
  const Array a = test::random_array(101, 96, 1), b = test::random_array(80, 96, 2);
  test::at_every_level([&] {
    Array all(101, 80), one(1, 80);
    matmul_nt(a.view(), b.view(), all.view(), {});
    for (const std::int64_t row : {0, 57, 100}) {
      matmul_nt(row_block(a.view(), row, 1), b.view(), one.view(), {});
      EXPECT_TRUE(
          test::same_bits(std::span(one.view().data, 80), std::span(all.view().row(row), 80)));
    }
  });
}

TEST(Matmul, AChainHandedOverInBlocksEqualsTheWhole) {
  const Array a = test::random_array(121, 30, 1), b = test::random_array(121, 45, 2);
  for (const DType inputs : {DType::kBf16, DType::kFp32}) {
    const MatmulPolicy policy{.inputs = inputs, .output = DType::kBf16};
    const Array start = test::random_array(30, 45, 3);
    Array whole = start;
    matmul_tn(a.view(), b.view(), whole.view(), policy, true);
    test::at_every_level([&] {
      Array partial(30, 45, 0), result = start;
      for (const auto& [begin, count] : {std::pair{0, 64}, std::pair{64, 2}, std::pair{66, 55}}) {
        matmul_tn_block(row_block(a.view(), begin, count), row_block(b.view(), begin, count),
                        partial.view(), policy, begin == 0);
      }
      matmul_finish(partial.view(), result.view(), policy, true);
      EXPECT_TRUE(test::same_bits(result, whole));
    });
  }
}

// 2^-24 - 1 + 1 keeps the small term, 2^-24 + 1 - 1 loses it.
TEST(Matmul, Bf16TakesTheSecondOfAPairFirst) {
  const float a[] = {0x1p-24f, 0.0f, 1.0f, -1.0f}, ones[] = {1.0f, 1.0f, 1.0f, 1.0f};
  test::at_every_level([&] {
    float c = 7.0f;
    matmul_nt(matrix(a, 1, 4), matrix(ones, 1, 4), matrix(&c, 1, 1), {.output = DType::kFp32});
    EXPECT_EQ(c, 0x1p-24f);
    matmul_nt(matrix(a, 1, 4), matrix(ones, 1, 4), matrix(&c, 1, 1),
              {.inputs = DType::kFp32, .output = DType::kFp32});
    EXPECT_EQ(c, 0.0f);
  });
}

TEST(Matmul, Bf16FloorIsAppliedAfterRounding) {
  test::at_every_level([&] {
    const auto times_one = [](float x) {
      const float one = 1.0f;
      float c = 7.0f;
      matmul_nt(matrix(&x, 1, 1), matrix(&one, 1, 1), matrix(&c, 1, 1), {.output = DType::kFp32});
      return c;
    };
    EXPECT_EQ(times_one(0x1p-56f), 0x1p-56f);
    EXPECT_EQ(times_one(0x1.ffp-57f), 0x1p-56f);  // the tie rounds up to the floor
    EXPECT_EQ(times_one(0x1.fefffep-57f), 0.0f);
    EXPECT_EQ(times_one(-0x1p-57f), 0.0f);
  });
}

TEST(Matmul, AGramMatrixFromOneTriangleEqualsItsDefinition) {
  for (const std::int64_t m : {1, 5, 31, 32, 33, 64, 100, 257}) {
    for (const std::int64_t k : {0, 1, 7, 40}) {
      const Array a = test::random_array(m, k, 1, k == 7 ? Values::kNonFinite : Values::kFinite);
      for (const Accumulation accumulation : {Accumulation::kChain, Accumulation::kBlock16}) {
        for (const DType inputs : {DType::kBf16, DType::kFp32}) {
          const MatmulPolicy policy{.inputs = inputs, .accumulation = accumulation};
          Array expected(m, m);
          reference::matmul_nt(a.view(), a.view(), expected.view(), policy);
          test::at_every_level([&] {
            Array actual(m, m);
            matmul_gram(a.view(), actual.view(), policy);
            EXPECT_TRUE(test::same_bits(actual, expected)) << m << " " << k;
          });
        }
      }
    }
  }
}

TEST(Matmul, APackedWeightGivesTheSameBits) {
  for (const DType inputs : {DType::kBf16, DType::kFp32, DType::kTf32}) {
    for (const ProductShape& s : kAwkward) {
      const MatmulPolicy policy{.inputs = inputs};
      const Array a = test::random_array(s.m, s.k, 1, Values::kFinite);
      const Array nt = test::random_array(s.n, s.k, 2, Values::kFinite);
      const Array nn = test::random_array(s.k, s.n, 2, Values::kFinite);
      const Array start = test::random_array(s.m, s.n, 3);
      test::at_every_level([&] {
        for (const Accumulation accumulation :
             {Accumulation::kChain, Accumulation::kBlock16, Accumulation::kSplitK}) {
          MatmulPolicy used = policy;
          used.accumulation = accumulation;
          used.split_k = 3;
          Array plain = start, packed = start;
          matmul_nt(a.view(), nt.view(), plain.view(), used, true);
          matmul_nt(a.view(), pack_weight(nt.view(), policy, PackFor::kNt), packed.view(), used,
                    true);
          EXPECT_TRUE(test::same_bits(packed, plain));
          matmul_nn(a.view(), nn.view(), plain.view(), used);
          matmul_nn(a.view(), pack_weight(nn.view(), policy, PackFor::kNn), packed.view(), used);
          EXPECT_TRUE(test::same_bits(packed, plain));
        }
      });
    }
  }
}

TEST(Matmul, APackedWeightSuitsWhatItWasPackedFor) {
  const Array w(4, 6);
  EXPECT_TRUE(PackedMatrix().empty());
  EXPECT_FALSE(PackedMatrix().suits(PackFor::kNt, {}));
  const PackedMatrix packed = pack_weight(w.view(), {}, PackFor::kNt);
  EXPECT_EQ(packed.rows(), 4);
  EXPECT_EQ(packed.cols(), 6);
  EXPECT_TRUE(packed.suits(PackFor::kNt, {.output = DType::kFp32}));
  EXPECT_FALSE(packed.suits(PackFor::kNn, {}));
  EXPECT_FALSE(packed.suits(PackFor::kNt, {.inputs = DType::kFp32}));
  Array a(2, 6), c(2, 4);
  EXPECT_THROW(matmul_nn(a.view(), packed, c.view(), {}), CheckFailure);
  EXPECT_THROW(pack_weight(w.view(), {.accumulation = Accumulation::kHostBlas}, PackFor::kNt),
               CheckFailure);
}

TEST(Matmul, ShapesThatDisagreeFailTheCheck) {
  Array a(2, 3), b(4, 5), c(2, 4);
  EXPECT_THROW(matmul_nt(a.view(), b.view(), c.view(), {}), CheckFailure);
  EXPECT_THROW(matmul_nt(a.view(), a.view(), c.view(), {}), CheckFailure);
  Array d(2, 2);
  EXPECT_THROW(matmul_nt(a.view(), a.view(), d.view(), {.accumulation = Accumulation::kHostBlas}),
               CheckFailure);
}

// Several tasks down and several across, their numbers with a common divisor.
TEST(Matmul, TransposedTasksSideBySideAndOneBelowTheOther) {
  for (const ProductShape& s : {ProductShape{130, 600, 20}, ProductShape{256, 1030, 5}}) {
    for (const DType inputs : {DType::kBf16, DType::kFp32}) {
      const MatmulPolicy policy{.inputs = inputs, .output = DType::kFp32};
      const Array a = test::random_array(s.k, s.m, 1), b = test::random_array(s.k, s.n, 2);
      Array expected(s.m, s.n);
      reference::matmul_tn(a.view(), b.view(), expected.view(), policy);
      test::at_every_level(
          [&] {
            Array c(s.m, s.n);
            matmul_tn(a.view(), b.view(), c.view(), policy);
            EXPECT_TRUE(test::same_bits(c, expected)) << s.m << " " << s.n;
          },
          {1, 3});
    }
  }
}

// dW of q, k and v: tasks of one loop, whether they may stand one below the other or not.
TEST(Matmul, SeveralProductsWithOneRightOperandEqualEachAlone) {
  const MatmulPolicy policies[] = {
      {},
      {.output = DType::kFp32},
      {.inputs = DType::kFp32, .output = DType::kFp32},
      {.accumulation = Accumulation::kBlock16},
      {.accumulation = Accumulation::kSplitK, .split_k = 3},
  };
  for (const ProductShape& s :
       {ProductShape{64, 40, 33}, ProductShape{96, 48, 300}, ProductShape{192, 33, 514},
        ProductShape{100, 50, 70}, ProductShape{1, 17, 40}, ProductShape{64, 33, 4130}}) {
    for (const MatmulPolicy& policy : policies) {
      if (s.k > 4096 && policy.accumulation != Accumulation::kChain) continue;
      for (const std::size_t count : {2U, 3U}) {
        const bool accumulate = count == 2;
        SCOPED_TRACE(testing::Message() << count << " of m " << s.m << " n " << s.n << " k " << s.k
                                        << " " << test::text(policy));
        const Array b = test::random_array(s.k, s.n, 9, Values::kFinite);
        std::vector<Array> a, start, expected;
        for (std::size_t i = 0; i < count; ++i) {
          a.push_back(test::random_array(s.k, s.m, i, Values::kFinite, static_cast<int>(i)));
          start.push_back(test::random_array(s.m, s.n, 10 + i, Values::kOrdinary, 5));
          expected.push_back(start[i]);
          reference::matmul_tn(a[i].view(), b.view(), expected[i].view(), policy, accumulate);
        }
        test::at_every_level([&] {
          std::vector<Array> actual = start;
          std::vector<TransposedProduct> products;
          for (std::size_t i = 0; i < count; ++i) {
            products.push_back({std::as_const(a[i]).view(), actual[i].view()});
          }
          matmul_tn(products, b.view(), policy, accumulate);
          for (std::size_t i = 0; i < count; ++i) {
            EXPECT_TRUE(test::same_bits(actual[i], expected[i])) << "product " << i;
          }
        });
      }
    }
  }
}

TEST(Matmul, SeveralProductsOfOneShapeOrTheCheckFails) {
  const Array a = test::random_array(8, 64, 1), wide = test::random_array(8, 96, 2),
              b = test::random_array(8, 5, 3);
  Array c(64, 5), more(96, 5);
  const std::vector<TransposedProduct> differ = {{a.view(), c.view()}, {wide.view(), more.view()}};
  EXPECT_THROW(matmul_tn(differ, b.view(), {}), CheckFailure);
  const std::vector<TransposedProduct> wrong = {{a.view(), c.view()}, {wide.view(), c.view()}};
  EXPECT_THROW(matmul_tn(wrong, b.view(), {}), CheckFailure);
  EXPECT_NO_THROW(matmul_tn(std::span<const TransposedProduct>(), b.view(), {}));
}

// Short pieces of chains: tiles convert the next stage's words a little at a time, and are at work
// on a unit of it when the next unit is due.
TEST(Matmul, WordsThatManyShortTilesConvertAreAllThere) {
  for (const ProductShape& s :
       {ProductShape{200, 160, 518}, ProductShape{100, 96, 2310}, ProductShape{210, 160, 773}}) {
    for (const DType inputs : {DType::kBf16, DType::kFp32}) {
      for (const Accumulation accumulation : {Accumulation::kBlock16, Accumulation::kSplitK}) {
        const MatmulPolicy policy{
            .inputs = inputs, .accumulation = accumulation, .split_k = 7, .output = DType::kFp32};
        const Array a = test::random_array(s.m, s.k, 1), b = test::random_array(s.n, s.k, 2);
        Array expected(s.m, s.n);
        reference::matmul_nt(a.view(), b.view(), expected.view(), policy);
        test::at_every_level([&] {
          Array c(s.m, s.n);
          matmul_nt(a.view(), b.view(), c.view(), policy);
          EXPECT_TRUE(test::same_bits(c, expected)) << s.m << " " << s.n << " " << s.k;
        });
      }
    }
  }
}

TEST(Matmul, ABlockOfNoRowsLeavesTheChainAsItIs) {
  const Array a(0, 130), b(0, 600);
  for (const DType inputs : {DType::kBf16, DType::kFp32}) {
    test::at_every_level([&] {
      const Array before = test::random_array(130, 600, 3);
      Array partial = before;
      matmul_tn_block(a.view(), b.view(), partial.view(), {.inputs = inputs}, false);
      EXPECT_TRUE(test::same_bits(partial, before));
    });
  }
}

}  // namespace
}  // namespace nb::kernels
