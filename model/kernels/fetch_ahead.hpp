// Prefetching by hand where the next source is known long before its use. Internal to
// model/kernels.
#pragma once

#include <algorithm>
#include <cstdint>

#include "model/kernels/inner/table.hpp"

namespace nb::kernels {

// `runs` runs of `count` values, `stride` values apart, spread over `steps` steps of tiles.
// value_bytes: of a value.
inline inner::Fetch fetch_ahead(const void* data, std::int64_t runs, std::int64_t count,
                                std::int64_t stride, std::int64_t steps,
                                std::int64_t value_bytes = 4) {
  if (runs <= 0 || count <= 0) return {};
  const std::int64_t run = value_bytes * count,
                     times = std::max<std::int64_t>(steps / inner::kFetchSteps, 1);
  const char* const at = static_cast<const char*>(data);
  return {.at = at,
          .end = at + run,
          .step = std::min((runs * run + times - 1) / times, inner::kMostFetched),
          .stride = value_bytes * stride,
          .jump = value_bytes * stride - run};
}

}  // namespace nb::kernels
