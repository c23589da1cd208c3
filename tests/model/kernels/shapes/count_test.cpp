// Must hold whatever is added or thinned elsewhere: the lists cover at least 300 shapes, and the
// planted edges are where and what they claim to be.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdio>
#include <set>

#include "model/tensor/dtype.hpp"
#include "tests/model/kernels/shapes/edges.hpp"
#include "tests/model/kernels/shapes/lists.hpp"

namespace nb::test {
namespace {

TEST(Shapes, AreAtLeastThreeHundred) {
  const std::pair<const char*, std::size_t> lists[] = {
      {"products", product_shapes().size()},
      {"rows", row_shapes().size()},
      {"vocabularies", vocabulary_shapes().size()},
      {"Muon's matrices", muon_shapes().size()},
      {"rotary", rotary_cases().size()},
      {"attention, training", training_attention_shapes().size()},
      {"attention, chunks", chunk_attention_shapes().size()},
      {"attention, ragged", ragged_cases().size()},
      {"flat", flat_sizes().size()}};
  std::size_t total = 0;
  for (const auto& [name, count] : lists) {
    std::printf("  %-20s %zu\n", name, count);
    total += count;
  }
  std::printf("  %-20s %zu\n", "together", total);
  EXPECT_GE(total, 300u);
}

TEST(Shapes, ProductsAreAllDifferent) {
  std::set<std::array<std::int64_t, 3>> seen;
  for (const ProductShape& s : product_shapes())
    EXPECT_TRUE(seen.insert({s.m, s.n, s.k}).second) << s.m << " " << s.n << " " << s.k;
}

TEST(Edges, HoldWhatTheyClaim) {
  bool negative_zero = false, denormal = false, nan = false, infinite = false, floor = false;
  for (const float x : edge_values()) {
    negative_zero = negative_zero || std::bit_cast<std::uint32_t>(x) == 0x80000000u;
    denormal = denormal || std::fpclassify(x) == FP_SUBNORMAL;
    nan = nan || std::isnan(x);
    infinite = infinite || std::isinf(x);
    floor = floor || std::fabs(x) == 0x1p-56f;
  }
  EXPECT_TRUE(negative_zero && denormal && nan && infinite && floor);
  EXPECT_EQ(round_to(DType::kBf16, 0x1.ffp-57f), 0x1p-56f);
  EXPECT_LT(std::fabs(round_to(DType::kBf16, -0x1.fefffep-57f)), 0x1p-56f);
}

TEST(Edges, StandAtTheFirstMiddleAndLastPlaces) {
  EXPECT_EQ(edge_places(1), (std::vector<std::int64_t>{0}));
  EXPECT_EQ(edge_places(0), (std::vector<std::int64_t>{}));
  EXPECT_EQ(edge_places(40), (std::vector<std::int64_t>{0, 1, 20, 31, 32, 38, 39}));
  const ProductEdge edge{"", 7.5f, 9.5f};
  const Operands x = edged_operands(5, 9, 33, edge, /*alone=*/true);
  const std::int64_t rows[] = {0, 2, 4}, cols[] = {0, 4, 8}, at[] = {0, 16, 32};
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(x.a.view().row(rows[i])[at[i]], 7.5f);
    EXPECT_EQ(x.b.view().row(cols[i])[at[i]], 9.5f);
  }
  EXPECT_EQ(x.a.view().row(2)[17], 0.0f);
  EXPECT_NE(x.a.view().row(1)[16], 7.5f);
}

// A shift a row more brings every edge within a few runs.
TEST(Edges, NeighbouringShiftsBringAllOfThem) {
  std::set<std::uint32_t> seen, all;
  for (const float x : edge_values()) all.insert(std::bit_cast<std::uint32_t>(x));
  for (std::size_t shift = 0; shift < 12; ++shift) {
    const Array x = edged_array(5, 64, 1, shift);
    for (const float value : x.data())
      if (all.contains(std::bit_cast<std::uint32_t>(value)))
        seen.insert(std::bit_cast<std::uint32_t>(value));
  }
  EXPECT_EQ(seen.size(), all.size());
}

}  // namespace
}  // namespace nb::test
