// Counts of whole pieces.
#pragma once

#include <cstdint>

namespace nb::kernels {

inline std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }
inline std::int64_t round_up(std::int64_t value, std::int64_t multiple) {
  return ceil_div(value, multiple) * multiple;
}

}  // namespace nb::kernels
