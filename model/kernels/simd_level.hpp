// Which instructions the kernels run on. All levels give the same bits; the choice changes speed
// alone. The best level that the host has and that passes its self-test is taken at first use,
// unless NPUBENCH_SIMD or set_simd_level name another.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/base/result.hpp"

namespace nb {

enum class SimdLevel { kScalar, kAvx2, kAvx512, kAvx512Bf16, kNeon };

std::string_view name(SimdLevel level);  // "scalar", "avx2", "avx512", "avx512bf16", "neon"
Result<SimdLevel> parse_simd_level(std::string_view text);

// All that there are, slowest of each architecture first.
std::span<const SimdLevel> all_simd_levels();
// Slowest first; compiled in, supported by this processor, and equal to the scalar level in the
// self-test.
const std::vector<SimdLevel>& available_levels();
// Why a level is not available: "not compiled in", "the processor lacks …", "self-test: …"; empty
// when it is.
std::string unavailable_reason(SimdLevel level);

// Not while kernels run. The error lists the available levels.
Result<void> set_simd_level(SimdLevel level);
// What main calls once: the level that the flag --simd names if it is not empty, else that of
// NPUBENCH_SIMD if set and not empty, else the best. Without this call the first kernel does the
// same and an error there is a CheckFailure.
Result<SimdLevel> select_simd_level(std::string_view flag = "");
SimdLevel simd_level();  // the one in use

// Rounding to nearest, denormals neither flushed (FTZ) nor read as zero (DAZ); else CheckFailure.
// Every kernel asserts it on entry, in every thread.
void check_float_mode();

}  // namespace nb
