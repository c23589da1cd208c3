// Prefetching by hand where the next source is known long before its use. Internal to
// model/kernels.
#pragma once

#include <algorithm>
#include <cstdint>

#include "model/kernels/inner/table.hpp"

namespace nb::kernels {

// `runs` runs of `count` values, `stride` values apart, spread over `steps` steps of tiles.
inline inner::Fetch fetch_ahead(const void* data, std::int64_t runs, std::int64_t count,
                                std::int64_t stride, std::int64_t steps) {
  constexpr std::int64_t kLine = 16;  // values of a cache line
  const std::int64_t lines = (count + kLine - 1) / kLine,
                     all = std::max<std::int64_t>(runs, 0) * lines;
  const std::int64_t times = std::max<std::int64_t>(steps / inner::kFetchSteps, 1);
  return {.line = static_cast<const char*>(data),
          .lines = lines,
          .jump = 4 * (stride - lines * kLine),
          .in_run = lines,
          .left = all,
          .rate = (all * inner::kFetchUnit + times - 1) / times,
          .due = 0};
}

}  // namespace nb::kernels
