#include "model/kernels/simd_level.hpp"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <sstream>
#include <string>
#include <vector>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "harness/base/check.hpp"
#include "harness/base/subprocess.hpp"
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

// Lines of nm for a level's objects.
std::vector<std::string> symbols_of(const std::string& level) {
  const std::string folder =
      fmt::format("{}/model/kernels/CMakeFiles/nb_kernels_{}.dir", NB_BINARY_DIR, level);
  const auto listing =
      run_subprocess({"sh", "-c", fmt::format("nm -C $(find '{}' -name '*.o')", folder)});
  EXPECT_TRUE(listing.has_value() && listing->exit_code == 0) << folder;
  std::istringstream text(listing ? listing->out : "");
  std::vector<std::string> lines;
  for (std::string line; std::getline(text, line);) lines.push_back(line);
  const auto has_table = [](const std::string& line) { return line.ends_with("::kTable"); };
  EXPECT_TRUE(std::ranges::any_of(lines, has_table)) << level;
  return lines;
}

// An inline function compiled with one level's instructions must never be linked into
// another's.
TEST(SimdLevel, NoLevelExportsMergeableCode) {
  for (const char* level : {"avx2", "avx512", "avx512bf16"}) {
    for (const std::string& line : symbols_of(level)) {
      // DW.ref.…: a pointer to the exception personality, data that sanitized builds carry.
      if (line.find(" DW.ref.") != std::string::npos) continue;
      for (const char* weak : {" W ", " V ", " u "})
        EXPECT_EQ(line.find(weak), std::string::npos) << level << ": " << line;
    }
  }
}

// On processors without AVX-512 every program ended by an illegal instruction before main: that
// level's table was filled by the level's code.
TEST(SimdLevel, NoLevelRunsCodeBeforeMain) {
  for (const char* level : {"avx2", "avx512", "avx512bf16"}) {
    for (const std::string& line : symbols_of(level))
      for (const char* initialiser : {"_GLOBAL__sub_I", "global constructors"})
        EXPECT_EQ(line.find(initialiser), std::string::npos) << level << ": " << line;
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

}  // namespace
}  // namespace nb
