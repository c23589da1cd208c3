// Prefetching by hand where the next source is known long before its use. Internal to
// model/kernels.
#pragma once

#include <algorithm>
#include <cstdint>

#include "model/kernels/inner/table.hpp"

namespace nb::kernels {

// `count` runs of `length` values, `stride` values apart.
struct Runs {
  const void* data;
  std::int64_t count, length, stride;
  std::int64_t value_bytes = 4;
};

// Spread over `steps` steps of the product's tiles.
inline inner::Fetch fetch_ahead(const inner::Gemm& gemm, const Runs& runs, std::int64_t steps) {
  if (runs.count <= 0 || runs.length <= 0) return {};
  const std::int64_t run = runs.value_bytes * runs.length,
                     times = std::max<std::int64_t>(steps / gemm.burst, 1);
  const char* const at = static_cast<const char*>(runs.data);
  return {.at = at,
          .end = at + run,
          .step = std::min({(runs.count * run + times - 1) / times, run, inner::kMaxFetched}),
          .stride = runs.value_bytes * runs.stride,
          .jump = runs.value_bytes * runs.stride - run};
}

// At once: they are read next.
inline void fetch_now(const Runs& runs) {
  for (std::int64_t r = 0; r < runs.count; ++r) {
    const char* const at = static_cast<const char*>(runs.data) + r * runs.stride * runs.value_bytes;
    for (std::int64_t byte = 0; byte < runs.length * runs.value_bytes; byte += 64) {
      __builtin_prefetch(at + byte);
    }
  }
}

}  // namespace nb::kernels
