#include "model/engine/big_int.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "harness/base/rng.hpp"

namespace nb {
namespace {

BigInt big(std::string_view digits) { return BigInt::parse(digits); }

TEST(BigInt, PrintsWhatItRead) {
  for (const char* digits :
       {"0", "7", "999999999", "1000000000", "4294967296", "18446744073709551616",
        "123456789012345678901234567890", "100000000000000000000000000"})
    EXPECT_EQ(big(digits).decimal(), digits);
  EXPECT_EQ((-big("1000000000")).decimal(), "-1000000000");
  EXPECT_EQ((-BigInt()).decimal(), "0");
  EXPECT_EQ(BigInt(INT64_MIN).decimal(), "-9223372036854775808");
  EXPECT_EQ(BigInt::parse("fFfFfFfFf", 16).decimal(), "68719476735");
}

// Divisors whose first limb is full, quotients that algorithm D first guesses one too large.
TEST(BigInt, DivisionUndoesMultiplicationWithAnyRest) {
  const Rng rng(11, "big int test");
  std::uint64_t draw = 0;
  const auto any = [&](int limbs) {
    BigInt value;
    for (int i = 0; i < limbs; ++i) {
      const std::uint64_t word = rng.bits(draw++);
      const std::uint64_t kind = word % 4;
      const std::uint32_t limb = kind == 0   ? 0
                                 : kind == 1 ? 0xffffffffU
                                 : kind == 2 ? 0x80000000U
                                             : static_cast<std::uint32_t>(word >> 32);
      value = value * big("4294967296") + BigInt(limb);
    }
    return value;
  };
  for (int round = 0; round < 3000; ++round) {
    const BigInt divisor = any(1 + round % 5) + BigInt(1);
    const BigInt quotient = any(1 + round % 7);
    const BigInt rest = floor_divide(any(1 + round % 5), BigInt(2));
    const BigInt small_rest = rest - floor_divide(rest, divisor) * divisor;
    EXPECT_FALSE(small_rest.is_negative());
    const BigInt product = quotient * divisor + small_rest;
    ASSERT_EQ(floor_divide(product, divisor), quotient)
        << product.decimal() << " / " << divisor.decimal();
    const BigInt below = small_rest.is_zero() ? BigInt(0) : BigInt(1);
    ASSERT_EQ(floor_divide(-product, divisor), -quotient - below);
  }
}

TEST(BigInt, TurnsIntoTheNearestDouble) {
  EXPECT_EQ(big("9007199254740993").as_double(), 9007199254740992.0);  // a tie goes to even
  EXPECT_EQ(big("9007199254740995").as_double(), 9007199254740996.0);
  EXPECT_EQ(big("36893488147419107329").as_double(), 36893488147419111424.0);  // just above a tie
  EXPECT_EQ((-big("5")).as_double(), -5.0);
  EXPECT_EQ(big("1" + std::string(309, '0')).as_double(), std::nullopt);
}

}  // namespace
}  // namespace nb
