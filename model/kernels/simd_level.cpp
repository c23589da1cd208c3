#include "model/kernels/simd_level.hpp"

#include <fmt/core.h>

#include <array>
#include <atomic>
#include <cfenv>
#include <cstdlib>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "harness/base/check.hpp"
#include "model/kernels/inner/dispatch.hpp"
#include "model/kernels/self_test/self_test.hpp"

namespace nb {
namespace {

constexpr std::array kAllLevels = {SimdLevel::kScalar, SimdLevel::kAvx2, SimdLevel::kAvx512,
                                   SimdLevel::kAvx512Bf16, SimdLevel::kNeon};

std::string missing_feature(SimdLevel level) {
#if defined(__x86_64__)
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  const bool avx512 = avx2 && __builtin_cpu_supports("avx512f") &&
                      __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
                      __builtin_cpu_supports("avx512dq");
  if (level == SimdLevel::kAvx2 && !avx2) return "the processor lacks AVX2 or FMA";
  if (level == SimdLevel::kAvx512 && !avx512) return "the processor lacks AVX-512 F, BW, VL or DQ";
  if (level == SimdLevel::kAvx512Bf16 && !(avx512 && __builtin_cpu_supports("avx512bf16"))) {
    return "the processor lacks AVX512_BF16";
  }
#endif
  static_cast<void>(level);  // every AArch64 processor has NEON
  return "";
}

struct Levels {
  std::array<std::string, kAllLevels.size()> reasons;
  std::vector<SimdLevel> available;
};

Levels find_levels() {
  Levels result;
  const kernels::inner::Table* scalar = kernels::inner::compiled_table(SimdLevel::kScalar);
  NB_CHECK(scalar != nullptr, "[simd] the scalar level is not compiled in");
  kernels::SelfTestResults expected;
  for (std::size_t i = 0; i < kAllLevels.size(); ++i) {
    const kernels::inner::Table* table = kernels::inner::compiled_table(kAllLevels[i]);
    std::string& reason = result.reasons[i];
    reason = table == nullptr ? "not compiled in" : missing_feature(kAllLevels[i]);
    if (reason.empty() && table != nullptr && table != scalar) {
      if (expected.empty()) expected = kernels::self_test_results(*scalar);
      const std::string entry =
          kernels::first_difference(kernels::self_test_results(*table), expected);
      if (!entry.empty()) reason = "self-test: " + entry + " differs";
    }
    if (reason.empty()) result.available.push_back(kAllLevels[i]);
  }
  return result;
}

const Levels& levels() {
  static const Levels kLevels = find_levels();
  return kLevels;
}

struct InUse {
  SimdLevel level;
  const kernels::inner::Table* table;
};
std::array<InUse, kAllLevels.size()> uses() {
  std::array<InUse, kAllLevels.size()> result{};
  for (std::size_t i = 0; i < result.size(); ++i) {
    result[i] = {kAllLevels[i], kernels::inner::compiled_table(kAllLevels[i])};
  }
  return result;
}

std::atomic<const InUse*>& in_use() {
  static std::atomic<const InUse*> pointer{nullptr};
  return pointer;
}

void use(SimdLevel level) {
  static const auto kUses = uses();
  in_use() = &kUses[static_cast<std::size_t>(level)];
}

std::string available_text() {
  std::string text;
  for (const SimdLevel level : levels().available) {
    if (!text.empty()) text += ", ";
    text += name(level);
  }
  return text;
}

}  // namespace

std::string_view name(SimdLevel level) {
  switch (level) {
    case SimdLevel::kScalar:
      return "scalar";
    case SimdLevel::kAvx2:
      return "avx2";
    case SimdLevel::kAvx512:
      return "avx512";
    case SimdLevel::kAvx512Bf16:
      return "avx512bf16";
    case SimdLevel::kNeon:
      return "neon";
  }
  NB_CHECK(false, "[simd] no such level {}", static_cast<int>(level));
}

Result<SimdLevel> parse_simd_level(std::string_view text) {
  for (const SimdLevel level : kAllLevels) {
    if (name(level) == text) return level;
  }
  return bad_input(fmt::format("no SIMD level \"{}\"; available here: {}", text, available_text()));
}

std::span<const SimdLevel> all_simd_levels() { return kAllLevels; }
const std::vector<SimdLevel>& available_levels() { return levels().available; }

std::string unavailable_reason(SimdLevel level) {
  return levels().reasons[static_cast<std::size_t>(level)];
}

Result<void> set_simd_level(SimdLevel level) {
  const std::string reason = unavailable_reason(level);
  if (!reason.empty()) {
    return bad_input(fmt::format("SIMD level {} cannot be used: {}; available here: {}",
                                 name(level), reason, available_text()));
  }
  use(level);
  return {};
}

Result<SimdLevel> select_simd_level(std::string_view flag) {
  const char* variable = std::getenv("NPUBENCH_SIMD");
  const char* source = flag.empty() ? "NPUBENCH_SIMD" : "--simd";
  if (flag.empty() && variable != nullptr) flag = variable;
  SimdLevel level = levels().available.back();
  if (!flag.empty()) {
    NB_TRY(level, parse_simd_level(flag), source);
  }
  NB_TRY_VOID(set_simd_level(level), source);
  return level;
}

SimdLevel simd_level() {
  if (in_use().load() == nullptr) {
    const Result<SimdLevel> level = select_simd_level();
    NB_CHECK(level.has_value(), "[simd] {}", level.error().message);
  }
  return in_use().load()->level;
}

void check_float_mode() {
#if defined(__x86_64__)
  // FTZ, rounding control, DAZ.
  NB_CHECK(
      (_mm_getcsr() & 0xe040u) == 0,
      "[float mode] MXCSR {:#x}: flush-to-zero, denormals-are-zero or another rounding mode is on",
      _mm_getcsr());
#elif defined(__aarch64__)
  // FZ, rounding control, and FEAT_AFP's FIZ, AH and NEP. (DN only changes NaN payloads.)
  NB_CHECK(
      (__builtin_aarch64_get_fpcr() & 0x01c00007u) == 0,
      "[float mode] FPCR {:#x}: flush-to-zero, another rounding mode or alternate handling is on",
      __builtin_aarch64_get_fpcr());
#else
  volatile float tiny = 0x1p-126f;
  NB_CHECK(tiny * 0.5f != 0.0f && std::fegetround() == FE_TONEAREST,
           "[float mode] denormals are flushed or another rounding mode is on");
#endif
}

namespace kernels::inner {

const Table& table() {
  check_float_mode();
  const InUse* use = in_use().load(std::memory_order_acquire);
  if (use == nullptr) [[unlikely]] {
    static_cast<void>(simd_level());
    use = in_use().load();
  }
  return *use->table;
}

int rounding_of(DType dtype, bool fp16_saturates) {
  switch (dtype) {
    case DType::kFp32:
      return kRoundNone;
    case DType::kBf16:
      return kRoundBf16;
    case DType::kFp16:
      return fp16_saturates ? kRoundFp16Saturating : kRoundFp16;
    case DType::kTf32:
      return kRoundTf32;
    case DType::kHf32:
      return kRoundHf32;
  }
  NB_CHECK(false, "[dtype] no such dtype {}", static_cast<int>(dtype));
}

}  // namespace kernels::inner
}  // namespace nb
