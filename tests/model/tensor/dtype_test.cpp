#include "model/tensor/dtype.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>

namespace nb {
namespace {

constexpr DType kAll[] = {DType::kFp32, DType::kBf16, DType::kFp16, DType::kTf32, DType::kHf32};

// Bits of the mantissa, least exponent of a normal number, largest finite value (IEEE 754, and the
// vendors' names).
struct Format {
  DType dtype;
  int mantissa, least_exponent;
  double largest;
};
constexpr Format kFormats[] = {{DType::kBf16, 7, -126, 0x1.fep127},
                               {DType::kFp16, 10, -14, 65504.0},
                               {DType::kTf32, 10, -126, 0x1.ffcp127},
                               {DType::kHf32, 11, -126, 0x1.ffep127}};

// Nearest-even by arithmetic on doubles, independent of the bit tricks under test.
float nearest(const Format& f, float x) {
  if (x == 0.0f || std::isinf(x)) return x;
  const double exact = static_cast<double>(x);
  const int exponent = std::max(std::ilogb(std::fabs(exact)), f.least_exponent);
  const double quantum = std::ldexp(1.0, exponent - f.mantissa);
  const double rounded = std::nearbyint(exact / quantum) * quantum;
  if (std::fabs(rounded) > f.largest) return std::copysign(INFINITY, x);
  return std::copysign(static_cast<float>(rounded), x);
}

TEST(DType, RoundsToTheNearestEvenValueOfTheFormat) {
  for (const Format& f : kFormats) {
    for (std::uint64_t u = 0; u < (std::uint64_t{1} << 32); u += 3001) {
      const auto x = std::bit_cast<float>(static_cast<std::uint32_t>(u));
      if (std::isnan(x)) continue;
      const float expected = nearest(f, x), actual = round_to(f.dtype, x);
      ASSERT_EQ(std::bit_cast<std::uint32_t>(actual), std::bit_cast<std::uint32_t>(expected))
          << name(f.dtype) << " of " << x;
    }
  }
}

TEST(DType, TiesGoToEvenAndTheEdgesAreExact) {
  EXPECT_EQ(round_to(DType::kBf16, 0x1.01p0f), 1.0f);
  EXPECT_EQ(round_to(DType::kBf16, 0x1.03p0f), 0x1.04p0f);
  EXPECT_EQ(round_to(DType::kBf16, 0x1.ffp127f), INFINITY);
  EXPECT_EQ(round_to(DType::kBf16, 0x1.fefffep127f), 0x1.fep127f);
  EXPECT_EQ(round_to(DType::kFp16, 65519.996f), 65504.0f);
  EXPECT_EQ(round_to(DType::kFp16, 65520.0f), INFINITY);
  EXPECT_EQ(round_to(DType::kFp16, 0x1p-25f), 0.0f);
  EXPECT_EQ(round_to(DType::kFp16, 0x1.8p-24f), 0x1p-23f);
  EXPECT_TRUE(std::signbit(round_to(DType::kFp16, -0x1p-30f)));
}

TEST(DType, NaNBecomesCanonicalInEveryFormat) {
  for (const DType dtype : kAll) {
    for (const std::uint32_t bits : {0x7f800001u, 0xffffffffu, 0x7fffffffu}) {
      EXPECT_EQ(std::bit_cast<std::uint32_t>(round_to(dtype, std::bit_cast<float>(bits))),
                0x7fc00000u);
    }
  }
}

// 910A and 310P, overflow → ±65504, NaN → 0.
TEST(DType, SaturatingFp16NeverLeavesTheFiniteNumbers) {
  EXPECT_EQ(round_to_fp16_saturating(std::exp(12.0f)), 65504.0f);
  EXPECT_EQ(round_to_fp16_saturating(-INFINITY), -65504.0f);
  EXPECT_EQ(round_to_fp16_saturating(NAN), 0.0f);
  EXPECT_EQ(round_to_fp16_saturating(0x1.004p0f), 0x1.004p0f);
}

TEST(DType, BitsComeBack) {
  for (std::uint32_t u = 0; u < 65536; ++u) {
    const auto bits = static_cast<std::uint16_t>(u);
    const float half = from_fp16_bits(bits), brain = from_bf16_bits(bits);
    if (!std::isnan(half)) {
      ASSERT_EQ(fp16_bits(half), bits);
      ASSERT_EQ(round_to(DType::kFp16, half), half);
    }
    if (!std::isnan(brain)) {
      ASSERT_EQ(bf16_bits(brain), bits);
    }
  }
  EXPECT_EQ(fp16_bits(canonical(NAN)), 0x7e00u);
  EXPECT_EQ(bf16_bits(canonical(NAN)), 0x7fc0u);
  EXPECT_EQ(from_fp16_bits(0x3c00), 1.0f);
  EXPECT_EQ(from_fp16_bits(0x0001), 0x1p-24f);
}

TEST(DType, NamesAndBytes) {
  for (const DType dtype : kAll) EXPECT_EQ(parse_dtype(name(dtype)).value(), dtype);
  const auto wrong = parse_dtype("float16");
  ASSERT_FALSE(wrong.has_value());
  EXPECT_NE(wrong.error().message.find("fp16"), std::string::npos);
  EXPECT_EQ(storage_bytes(DType::kBf16), 2u);
  EXPECT_EQ(storage_bytes(DType::kFp16), 2u);
  EXPECT_EQ(storage_bytes(DType::kHf32), 4u);
}

}  // namespace
}  // namespace nb
