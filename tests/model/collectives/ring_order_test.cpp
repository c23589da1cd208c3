#include "model/collectives/ring_order.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <set>

namespace nb {
namespace {

float reduce(std::vector<std::vector<float>> inputs, const std::vector<int>& order, Reduce op,
             DType dtype) {
  std::vector<std::span<const float>> views(inputs.begin(), inputs.end());
  float out = 0;
  reduce_in_order(views, order, op, dtype, {&out, 1});
  return out;
}

TEST(RingOrder, PiecesCoverEveryElementOnce) {
  for (const int p : {1, 2, 3, 7, 8}) {
    for (const std::int64_t n : {0, 1, 5, 64, 1001}) {
      std::int64_t next = 0;
      for (int r = 0; r < p; ++r) {
        const Piece piece = piece_of(n, r, p);
        EXPECT_EQ(piece.begin, next);
        next = piece.end;
      }
      EXPECT_EQ(next, n);
    }
  }
}

// Ring reduce-scatter: piece c starts at rank c+1 and ends at its owner c.
TEST(RingOrder, RingEndsAtTheOwner) {
  EXPECT_EQ(summation_order(ReductionOrder::kRing, 0, 4, 0, 0), (std::vector<int>{1, 2, 3, 0}));
  EXPECT_EQ(summation_order(ReductionOrder::kRing, 3, 4, 0, 0), (std::vector<int>{0, 1, 2, 3}));
  EXPECT_EQ(summation_order(ReductionOrder::kMesh, 3, 4, 0, 0), (std::vector<int>{0, 1, 2, 3}));
}

TEST(RingOrder, UnorderedIsAPermutationThatDependsOnSeedAndCall) {
  std::set<std::vector<int>> seen;
  for (std::uint64_t sequence = 0; sequence < 20; ++sequence) {
    std::vector<int> order = summation_order(ReductionOrder::kUnordered, 1, 8, 7, sequence);
    EXPECT_EQ(order, summation_order(ReductionOrder::kUnordered, 1, 8, 7, sequence));
    seen.insert(order);
    std::sort(order.begin(), order.end());
    EXPECT_EQ(order, (std::vector<int>{0, 1, 2, 3, 4, 5, 6, 7}));
  }
  EXPECT_GT(seen.size(), 15u);
}

// 2^24 + 1 + 1 in fp32: the ones are lost when they come last and one by one (round to nearest
// even).
TEST(RingOrder, OrderChangesTheSum) {
  const std::vector<std::vector<float>> x = {{16777216.0f}, {1.0f}, {1.0f}};
  EXPECT_EQ(reduce(x, {0, 1, 2}, Reduce::kSum, DType::kFp32), 16777216.0f);
  EXPECT_EQ(reduce(x, {1, 2, 0}, Reduce::kSum, DType::kFp32), 16777218.0f);
}

// bf16 has 8 significant bits: 256 + 1 = 257 rounds to 256 (tie to even), 256 + 3 = 259 to 260.
TEST(RingOrder, PartialSumsAreRoundedToTheWire) {
  EXPECT_EQ(reduce({{256.0f}, {1.0f}}, {0, 1}, Reduce::kSum, DType::kBf16), 256.0f);
  EXPECT_EQ(reduce({{256.0f}, {3.0f}}, {0, 1}, Reduce::kSum, DType::kBf16), 260.0f);
  EXPECT_EQ(reduce({{1.00390625f}, {0.0f}}, {0, 1}, Reduce::kSum, DType::kBf16), 1.0f);
}

TEST(RingOrder, AverageDividesTheSum) {
  EXPECT_EQ(reduce({{1.0f}, {2.0f}, {6.0f}}, {0, 1, 2}, Reduce::kAverage, DType::kFp32), 3.0f);
}

TEST(RingOrder, MaximumKeepsANaN) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(reduce({{1.0f}, {-2.0f}, {6.0f}}, {0, 1, 2}, Reduce::kMax, DType::kFp32), 6.0f);
  const float worst = reduce({{1.0f}, {nan}, {6.0f}}, {0, 1, 2}, Reduce::kMax, DType::kFp32);
  EXPECT_NE(worst, worst);
}

}  // namespace
}  // namespace nb
