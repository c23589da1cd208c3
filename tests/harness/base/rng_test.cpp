#include "harness/base/rng.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "harness/base/check.hpp"

namespace nb {
namespace {

using Words = std::array<std::uint32_t, 4>;

// Random123 1.14, tests/kat_vectors, philox4x32 10.
TEST(Philox, KnownAnswers) {
  EXPECT_EQ(philox4x32({0, 0, 0, 0}, {0, 0}),
            (Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  const std::uint32_t ff = 0xffffffff;
  EXPECT_EQ(philox4x32({ff, ff, ff, ff}, {ff, ff}),
            (Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox4x32({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Rng, DrawsAreFunctionsOfTheirArguments) {
  const Rng a(7, "init/wte", 3);
  const Rng b(7, "init/wte", 3);
  for (const std::uint64_t i : {5, 0, 1'000'000'007}) EXPECT_EQ(a.bits(i), b.bits(i));
}

TEST(Rng, SeedPurposeStepAndIndexAllMatter) {
  std::set<std::uint64_t> draws = {Rng(7, "a").bits(0),          Rng(8, "a").bits(0),
                                   Rng(7, "b").bits(0),          Rng(7, "a", 1).bits(0),
                                   Rng(7, "a").bits(1),          Rng(7, "a").bits(2),
                                   Rng(7, "a").bits(1ULL << 40), Rng(7, "a", 1ULL << 40).bits(0),
                                   Rng(71, "").bits(0),          Rng(7, "1").bits(0)};
  EXPECT_EQ(draws.size(), 10U);
}

TEST(Rng, UniformsFillTheUnitInterval) {
  const Rng rng(1, "uniform");
  constexpr int kDraws = 100'000;
  double sum = 0;
  for (std::uint64_t i = 0; i < kDraws; ++i) {
    const double u = rng.uniform(i);
    ASSERT_TRUE(u >= 0 && u < 1) << u;
    sum += u;
  }
  EXPECT_NEAR(sum / kDraws, 0.5, 5 * std::sqrt(1.0 / 12 / kDraws));  // five standard errors
}

TEST(Rng, BelowReachesEveryValueAndNoOther) {
  const Rng rng(1, "below");
  std::array<int, 7> counts{};
  for (std::uint64_t i = 0; i < 7000; ++i) ++counts.at(rng.below(i, 7));
  for (const int count : counts) EXPECT_NEAR(count, 1000, 5 * std::sqrt(7000 * 6.0 / 49));
  EXPECT_EQ(rng.below(3, 1), 0U);
  EXPECT_THROW(rng.below(0, 0), CheckFailure);
}

TEST(Rng, NormalsHaveTheMomentsOfTheNormal) {
  const Rng rng(1, "normal");
  constexpr int kDraws = 100'000;
  double sum = 0;
  double squares = 0;
  double products = 0;  // of the two draws of one block
  int beyond_two = 0;
  for (std::uint64_t i = 0; i < kDraws; ++i) {
    const double z = rng.normal(i);
    sum += z;
    squares += z * z;
    if (i % 2 == 1) products += z * rng.normal(i - 1);
    if (std::abs(z) > 2) ++beyond_two;
  }
  EXPECT_NEAR(sum / kDraws, 0, 5 / std::sqrt(1.0 * kDraws));
  EXPECT_NEAR(squares / kDraws, 1, 5 * std::sqrt(2.0 / kDraws));
  EXPECT_NEAR(products / (kDraws / 2.0), 0, 5 / std::sqrt(kDraws / 2.0));
  const double expected = 0.0455002638963584;  // 2(1 − Φ(2))
  EXPECT_NEAR(beyond_two / double{kDraws}, expected, 5 * std::sqrt(expected / kDraws));
}

}  // namespace
}  // namespace nb
