#include "model/kernels/simd_level.hpp"

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "harness/base/check.hpp"
#include "harness/base/subprocess.hpp"
#include "model/kernels/inner/bf16_pair.hpp"
#include "model/kernels/inner/dispatch.hpp"
#include "model/kernels/reduce.hpp"
#include "tests/model/kernels/kernel_case.hpp"

namespace nb {
namespace {

TEST(SimdLevel, EveryLevelThatTheProcessorHasPassesItsSelfTest) {
  for (const SimdLevel level : all_simd_levels()) {
    const std::string reason = unavailable_reason(level);
    EXPECT_EQ(reason.find("self-test"), std::string::npos) << name(level) << ": " << reason;
    std::printf("  %s: %s\n", name(level).data(), reason.empty() ? "tested" : reason.c_str());
  }
  EXPECT_EQ(available_levels().front(), SimdLevel::kScalar);
}

TEST(SimdLevel, NamesComeBack) {
  for (const SimdLevel level : all_simd_levels())
    EXPECT_EQ(parse_simd_level(name(level)).value(), level);
}

TEST(SimdLevel, AnUnknownOrUnavailableLevelListsThoseAvailable) {
  const auto unknown = parse_simd_level("sse9");
  ASSERT_FALSE(unknown.has_value());
  EXPECT_NE(unknown.error().message.find("scalar"), std::string::npos);
  const SimdLevel missing =
      unavailable_reason(SimdLevel::kNeon).empty() ? SimdLevel::kAvx2 : SimdLevel::kNeon;
  const auto refused = set_simd_level(missing);
  ASSERT_FALSE(refused.has_value());
  EXPECT_NE(refused.error().message.find("available here: scalar"), std::string::npos);
}

TEST(SimdLevel, TheEnvironmentVariableChooses) {
  const SimdLevel before = simd_level();
  setenv("NPUBENCH_SIMD", "scalar", 1);
  EXPECT_EQ(select_simd_level().value(), SimdLevel::kScalar);
  setenv("NPUBENCH_SIMD", "fastest", 1);
  const auto wrong = select_simd_level();
  ASSERT_FALSE(wrong.has_value());
  EXPECT_NE(wrong.error().message.find("NPUBENCH_SIMD"), std::string::npos);
  EXPECT_EQ(select_simd_level("scalar").value(), SimdLevel::kScalar);  // the flag wins
  unsetenv("NPUBENCH_SIMD");
  EXPECT_EQ(select_simd_level().value(), available_levels().back());
  ASSERT_TRUE(set_simd_level(before).has_value());
}

// A table that differs in one function must be refused: the self-test can fail.
TEST(SimdLevel, SelfTestFindsAPlantedDifference) {
  namespace inner = kernels::inner;
  const inner::Table& scalar = *inner::compiled_table(SimdLevel::kScalar);
  inner::Table wrong = scalar;
  EXPECT_EQ(inner::self_test(wrong, scalar), "");
  wrong.exp = scalar.tanh;
  EXPECT_EQ(inner::self_test(wrong, scalar), "exp differs");
  wrong = scalar;
  wrong.bf16.tile = [](int rows, int vectors, std::int64_t steps, const std::uint32_t* a,
                       const std::uint32_t* b, float* c, std::int64_t stride, int mode) {
    kernels::inner::compiled_table(SimdLevel::kScalar)
        ->bf16.tile(rows, vectors, steps - 1, a, b, c, stride, mode);
  };
  EXPECT_EQ(inner::self_test(wrong, scalar).substr(0, 20), "bf16 product differs");
}

#if defined(__x86_64__)
TEST(FloatMode, FlushToZeroFailsTheCheckAtKernelEntry) {
  const unsigned before = _mm_getcsr();
  const std::vector<float> x(10, 1.0f);
  for (const unsigned bit : {0x8000u, 0x0040u, 0x2000u}) {  // FTZ, DAZ, rounding down
    _mm_setcsr(before | bit);
    EXPECT_THROW(check_float_mode(), CheckFailure);
    EXPECT_THROW(static_cast<void>(kernels::sum_of_squares(x)), CheckFailure);
    _mm_setcsr(before);
  }
  EXPECT_NO_THROW(check_float_mode());
}

// design.md §6: an inline function compiled with one level's instructions must never be linked into
// another's.
TEST(SimdLevel, NoLevelExportsMergeableCode) {
  for (const char* level : {"avx2", "avx512", "avx512bf16"}) {
    const std::string folder =
        std::string(NB_BINARY_DIR) + "/model/kernels/CMakeFiles/nb_kernels_" + level + ".dir";
    const auto listing = run_subprocess({"sh", "-c", "nm -C $(find '" + folder + "' -name '*.o')"});
    ASSERT_TRUE(listing.has_value() && listing->exit_code == 0) << folder;
    EXPECT_NE(listing->out.find("kTable"), std::string::npos);
    std::size_t begin = 0;
    while (begin < listing->out.size()) {
      const std::size_t end = std::min(listing->out.find('\n', begin), listing->out.size());
      const std::string line = listing->out.substr(begin, end - begin);
      // DW.ref.…: a pointer to the exception personality, data that sanitized builds carry.
      const bool is_data = line.find(" DW.ref.") != std::string::npos;
      for (const char* weak : {" W ", " V ", " u "}) {
        if (is_data) continue;
        EXPECT_EQ(line.find(weak), std::string::npos) << level << ": " << line;
      }
      begin = end + 1;
    }
  }
}
#endif

#if defined(__aarch64__)
TEST(FloatMode, FlushToZeroFailsTheCheckAtKernelEntry) {
  const unsigned before = __builtin_aarch64_get_fpcr();
  const std::vector<float> x(10, 1.0f);
  for (const unsigned bit : {0x01000000u, 0x00800000u}) {  // FZ, rounding down
    __builtin_aarch64_set_fpcr(before | bit);
    EXPECT_THROW(check_float_mode(), CheckFailure);
    EXPECT_THROW(static_cast<void>(kernels::sum_of_squares(x)), CheckFailure);
    __builtin_aarch64_set_fpcr(before);
  }
  EXPECT_NO_THROW(check_float_mode());
}
#endif

// design.md §6, checked there on 19.2 million cases: the instruction is fma(a0,b0, fma(a1,b1,c)).
TEST(Bf16Pair, TheModelIsTwoFmasAndFlushes) {
  using kernels::inner::bf16_pair;
  EXPECT_EQ(bf16_pair(1.0f, 0x1p-24f, -1.0f, 1.0f, 1.0f), 0x1p-24f);  // -1 first
  EXPECT_EQ(bf16_pair(0.0f, 0x1p-70f, 0.0f, 0x1p-70f, 0.0f), 0.0f);   // a denormal result
  EXPECT_EQ(bf16_pair(0x1p-149f, 1.0f, 0.0f, 0.0f, 0.0f), 0.0f);      // a denormal sum
  EXPECT_EQ(bf16_pair(0.0f, 0x1p-130f, 0.0f, 0x1p100f, 0.0f), 0.0f);  // a denormal factor
}

TEST(Bf16Pair, TheTileOfEveryLevelFollowsTheModel) {
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
    const inner::Product& product = inner::compiled_table(level)->bf16;
    const std::int64_t steps = kDepth / product.values_per_step;
    const bool swaps = product.values_per_step == 1;
    std::vector<std::uint32_t> pa(static_cast<std::size_t>(steps * product.rows));
    std::vector<std::uint32_t> pb(static_cast<std::size_t>(steps * product.cols));
    product.pack(a.data(), kDepth, 1, 1, product.rows, kDepth, steps, inner::kRoundBf16Floor, swaps,
                 pa.data());
    product.pack(b.data(), kDepth, 1, 16, product.cols, kDepth, steps, inner::kRoundBf16Floor,
                 swaps, pb.data());
    float c[16];
    product.tile(1, 1, steps, pa.data(), pb.data(), c, 16, inner::kTileStart);
    for (std::size_t j = 0; j < 16; ++j) {
      float expected = 0.0f;
      for (std::size_t k = 0; k < kDepth; k += 2) {
        expected =
            inner::bf16_pair(expected, a[k], a[k + 1], b[j * kDepth + k], b[j * kDepth + k + 1]);
      }
      EXPECT_TRUE(test::same_bits(std::span(&c[j], 1), std::span(&expected, 1)))
          << name(level) << " column " << j;
    }
  }
}

}  // namespace
}  // namespace nb
