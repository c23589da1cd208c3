// What every function of a level makes of fixed hard cases. A level is used only where it gives the
// bits of the scalar one: a miscompiled or misreported instruction must not change a number. Levels
// differ in tiles and layouts, so results are in a form that all of them share: packed operands are
// unpacked, tiles of all sizes must agree with each other. Not covered: Gemm::spin, which only
// benchmarks run, and what is prefetched, which changes no bit. One thread; no more than a few
// milliseconds, most of them for the scalar level (simd_level.cpp runs it once).
//
// tests/model/kernels/self_test_test.cpp plants a wrong result into every function of the table, so
// that a new entry without a case here fails.
#pragma once

#include <string>
#include <vector>

#include "model/kernels/inner/table.hpp"

namespace nb::kernels {

struct SelfTestResult {
  std::string entry;  // of the table: "exp", "gemm_bf16.tile"
  std::vector<float> values;
};
using SelfTestResults = std::vector<SelfTestResult>;

SelfTestResults self_test_results(const inner::Table& table);

// Empty, or the entry that differs first: later ones may have been given its results.
std::string first_difference(const SelfTestResults& results, const SelfTestResults& scalar);

}  // namespace nb::kernels
