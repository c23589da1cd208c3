// Times as files write them, as whole nanoseconds: 19 digits do not fit a double. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace nb::profiler {

enum class TimeUnit { kMicroseconds = 3, kMilliseconds = 6 };

// "1736408883704643.212\t" → ns, the nearest, halves up. Blanks around it are no part; an exponent
// is understood. nullopt: empty, N/A or no number, or beyond the range of int64.
std::optional<std::int64_t> ns_of(std::string_view text, TimeUnit unit = TimeUnit::kMicroseconds);
// nullopt: empty, N/A, no number, not finite.
std::optional<double> number_of(std::string_view text);

constexpr double ms(std::int64_t time_ns) { return static_cast<double>(time_ns) / 1e6; }
// 0 of nothing.
constexpr double share(std::int64_t part, std::int64_t whole) {
  return whole > 0 ? static_cast<double>(part) / static_cast<double>(whole) : 0;
}

}  // namespace nb::profiler
