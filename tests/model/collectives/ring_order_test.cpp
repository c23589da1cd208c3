#include "model/collectives/ring_order.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>
#include <set>

#include "harness/base/rng.hpp"

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

// As the header says it, element by element.
float in_order(const std::vector<std::vector<float>>& inputs, const std::vector<int>& order,
               std::size_t i, Reduce op, DType dtype, Averaging averaging) {
  const auto ranks = static_cast<float>(inputs.size());
  const bool pre_multiplies = op == Reduce::kAverage && averaging == Averaging::kPreMultiply;
  const auto operand = [&](std::size_t r) {
    const float value = round_to(dtype, inputs[static_cast<std::size_t>(order[r])][i]);
    return pre_multiplies ? round_to(dtype, value * round_to(dtype, 1 / ranks)) : value;
  };
  float sum = operand(0);
  for (std::size_t r = 1; r < order.size(); ++r) {
    const float value = operand(r);
    if (op != Reduce::kMax)
      sum = round_to(dtype, sum + value);
    else if (sum == sum && (value != value || sum < value))
      sum = value;
  }
  return op == Reduce::kAverage && !pre_multiplies ? round_to(dtype, sum / ranks) : sum;
}

// Of any length, in the place of an operand, with NaNs, infinities, denormals and both zeros.
TEST(RingOrder, ManyElementsAreSummedAsOne) {
  const Rng rng(3, "ring order test");
  const std::vector<float> odd = {std::numeric_limits<float>::infinity(),
                                  -std::numeric_limits<float>::infinity(),
                                  -std::numeric_limits<float>::quiet_NaN(),
                                  1e-41F,
                                  -0.0F,
                                  3e38F};
  const auto bits = [](float x) { return std::bit_cast<std::uint32_t>(x); };
  for (const std::size_t ranks : std::vector<std::size_t>{1, 2, 3, 4})
    for (const std::size_t count : std::vector<std::size_t>{1, 31, 2048, 2049, 5000}) {
      std::vector<std::vector<float>> inputs(ranks, std::vector<float>(count));
      for (std::size_t r = 0; r < ranks; ++r)
        for (std::size_t i = 0; i < count; ++i) {
          const std::uint64_t at = r * count + i;
          inputs[r][i] = rng.below(2 * at, 20) == 0
                             ? odd[rng.below(2 * at + 1, odd.size())]
                             : static_cast<float>(rng.normal(at)) * (i % 3 == 0 ? 1e-39F : 1.0F);
        }
      const std::vector<int> order =
          summation_order(ReductionOrder::kUnordered, 0, static_cast<int>(ranks), 5, count);
      for (const DType dtype :
           {DType::kFp32, DType::kBf16, DType::kFp16, DType::kTf32, DType::kHf32})
        for (const Reduce op : {Reduce::kSum, Reduce::kAverage, Reduce::kMax})
          for (const Averaging averaging : {Averaging::kDivide, Averaging::kPreMultiply}) {
            std::vector<std::vector<float>> in_place = inputs;
            const std::vector<std::span<const float>> views(in_place.begin(), in_place.end());
            reduce_in_order(views, order, op, dtype, in_place.back(), averaging);
            std::size_t differing = 0;
            for (std::size_t i = 0; i < count; ++i)
              differing +=
                  bits(in_place.back()[i]) != bits(in_order(inputs, order, i, op, dtype, averaging))
                      ? 1
                      : 0;
            EXPECT_EQ(differing, 0U) << ranks << " ranks, " << count << ", " << name(dtype);
          }
    }
}

}  // namespace
}  // namespace nb
