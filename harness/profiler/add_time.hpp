// Sums of times that a damaged file may have made as large as an int64 can be.
#pragma once

#include <algorithm>
#include <cstdint>

namespace nb::profiler {

inline constexpr std::int64_t kMostTime = std::int64_t{1} << 61;  // ns: 73 years

// The sum stays where two of them still add up to an int64.
inline void add_time(std::int64_t& sum, std::int64_t ns) {
  sum = std::clamp(std::clamp(sum, -kMostTime, kMostTime) + std::clamp(ns, -kMostTime, kMostTime),
                   -kMostTime, kMostTime);
}

}  // namespace nb::profiler
