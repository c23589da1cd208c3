// The software model of VDPBF16PS: on every host against exact arithmetic, where the processor has
// the instruction against the instruction, and the products of every level against the model.
#include "model/kernels/inner/bf16_pair.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <sstream>
#include <string>
#include <vector>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "harness/base/fs.hpp"
#include "harness/base/rng.hpp"
#include "model/kernels/inner/dispatch.hpp"
#include "tests/model/kernels/kernel_case.hpp"

namespace nb {
namespace {

using kernels::inner::bf16_pair;

struct Case {
  float c, a0, a1, b0, b1, result;
};

float from_hex(const std::string& digits) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(std::stoul(digits, nullptr, 16)));
}

// tests/golden/bf16_pair.py, which computes with exact fractions.
std::vector<Case> golden() {
  std::vector<Case> cases;
  std::istringstream lines(read_file(NB_SOURCE_DIR "/tests/golden/bf16_pair.txt").value());
  for (std::string c, a0, a1, b0, b1, result; lines >> c >> a0 >> a1 >> b0 >> b1 >> result;) {
    cases.push_back({from_hex(c), from_hex(a0), from_hex(a1), from_hex(b0), from_hex(b1),
                     result == "nan" ? NAN : from_hex(result)});
  }
  return cases;
}

testing::AssertionResult gives(float actual, const Case& expected) {
  const auto same = test::same_bits(std::span(&actual, 1), std::span(&expected.result, 1));
  if (same) return same;
  return testing::AssertionFailure()
         << same.message() << " for c " << expected.c << " a " << expected.a0 << " " << expected.a1
         << " b " << expected.b0 << " " << expected.b1;
}

TEST(Bf16Pair, TheModelEqualsExactArithmetic) {
  const std::vector<Case> cases = golden();
  ASSERT_GT(cases.size(), 400u);
  for (const Case& one : cases)
    EXPECT_TRUE(gives(bf16_pair(one.c, one.a0, one.a1, one.b0, one.b1), one));
}

#if defined(__x86_64__)
__attribute__((target("avx512f,avx512bf16"))) float instruction(float c, float a0, float a1,
                                                                float b0, float b1) {
  const auto pair = [](float low, float high) {
    return static_cast<int>((std::bit_cast<std::uint32_t>(low) >> 16) |
                            (std::bit_cast<std::uint32_t>(high) & 0xffff0000u));
  };
  const __m512i a = _mm512_set1_epi32(pair(a0, a1)), b = _mm512_set1_epi32(pair(b0, b1));
  const __m512 sum = _mm512_dpbf16_ps(_mm512_set1_ps(c), reinterpret_cast<__m512bh>(a),
                                      reinterpret_cast<__m512bh>(b));
  return _mm512_cvtss_f32(sum);
}

TEST(Bf16Pair, TheInstructionEqualsExactArithmeticAndTheModel) {
  if (!__builtin_cpu_supports("avx512bf16")) GTEST_SKIP() << "the processor lacks AVX512_BF16";
  for (const Case& one : golden())
    EXPECT_TRUE(gives(instruction(one.c, one.a0, one.a1, one.b0, one.b1), one));
  const Rng rng(1, "bf16 pair");
  for (std::uint64_t i = 0; i < 500'000; ++i) {
    const auto bf16 = [&](std::uint64_t k) {
      const auto bits = static_cast<std::uint32_t>(rng.bits(5 * i + k)) & 0xffff0000u;
      return std::bit_cast<float>(bits);
    };
    Case one{std::bit_cast<float>(static_cast<std::uint32_t>(rng.bits(5 * i))),
             bf16(1),
             bf16(2),
             bf16(3),
             bf16(4),
             0.0f};
    one.result = bf16_pair(one.c, one.a0, one.a1, one.b0, one.b1);
    ASSERT_TRUE(gives(instruction(one.c, one.a0, one.a1, one.b0, one.b1), one));
  }
}
#endif

// Where the floor of policy.hpp holds nothing can be flushed: the model is one chain of fused
// multiply-adds.
TEST(Bf16Pair, AboveTheFloorTheModelIsTwoFusedMultiplyAdds) {
  const Rng rng(2, "bf16 pair");
  for (std::uint64_t i = 0; i < 200'000; ++i) {
    const auto draw = [&](std::uint64_t k) {  // 2^-56 … 2^7, bf16
      const std::uint64_t bits = rng.bits(5 * i + k);
      const auto exponent = static_cast<std::uint32_t>(71 + bits % 64);
      return std::bit_cast<float>(static_cast<std::uint32_t>(bits >> 32 & 0x807f0000u) | exponent
                                                                                             << 23);
    };
    const float a0 = draw(1), a1 = draw(2), b0 = draw(3), b1 = draw(4);
    const float c = i % 2 == 0 ? 0.0f : draw(0) * draw(1);
    const float expected = std::fma(a0, b0, std::fma(a1, b1, c));
    const float actual = bf16_pair(c, a0, a1, b0, b1);
    ASSERT_EQ(std::bit_cast<std::uint32_t>(actual), std::bit_cast<std::uint32_t>(expected));
  }
}

TEST(Bf16Pair, TheTilesOfEveryLevelFollowTheModel) {
  namespace inner = kernels::inner;
  constexpr int kDepth = 64;
  std::vector<float> a = test::random_vector(kDepth, 1, test::Values::kFinite);
  std::vector<float> b = test::random_vector(16 * kDepth, 2, test::Values::kFinite);
  for (std::vector<float>* values : {&a, &b}) {
    for (float& x : *values) {
      x = round_to(DType::kBf16, x);
      if (x < 0x1p-56f && x > -0x1p-56f) x = 0.0f;
    }
  }
  for (const SimdLevel level : available_levels()) {
    const inner::Gemm& gemm = *inner::compiled_table(level)->gemm_bf16;
    const std::int64_t steps = kDepth / gemm.values_per_step, panel = steps * gemm.cols;
    const bool swaps = gemm.values_per_step == 1;
    std::vector<std::uint32_t> row(inner::kGemmRowWords), left(static_cast<std::size_t>(panel)),
        right(left.size());
    gemm.pack_rows(a.data(), kDepth, 1, kDepth, steps, inner::kRoundBf16Floor, swaps, row.data());
    gemm.pack_panels(a.data(), kDepth, true, 1, kDepth, steps, inner::kRoundBf16Floor, swaps, panel,
                     left.data());
    gemm.pack_panels(b.data(), kDepth, true, 16, kDepth, steps, inner::kRoundBf16Floor, swaps,
                     panel, right.data());
    float c[16], d[16];
    inner::GemmTile tile = {};
    tile.steps = steps;
    tile.b = right.data();
    tile.b_panel = panel;
    tile.a = row.data();
    tile.out = c;
    gemm.tile(1, 1, tile);
    tile.a = left.data();
    tile.out = d;
    gemm.tile_transposed(1, 1, tile);
    for (std::size_t j = 0; j < 16; ++j) {
      float expected = 0.0f;
      for (std::size_t k = 0; k < kDepth; k += 2) {
        expected =
            inner::bf16_pair(expected, a[k], a[k + 1], b[j * kDepth + k], b[j * kDepth + k + 1]);
      }
      for (const float* sums : {c, d}) {
        EXPECT_TRUE(test::same_bits(std::span(sums + j, 1), std::span(&expected, 1)))
            << name(level) << (sums == c ? " rows" : " panels") << ", column " << j;
      }
    }
  }
}

}  // namespace
}  // namespace nb
