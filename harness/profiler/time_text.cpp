#include "harness/profiler/time_text.hpp"

#include <charconv>
#include <cmath>

#include "harness/base/ascii.hpp"

namespace nb::profiler {

std::optional<double> number_of(std::string_view text) {
  text = trimmed(text);
  if (text.starts_with('+')) text.remove_prefix(1);
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value))
    return std::nullopt;
  return value;
}

std::optional<std::int64_t> ns_of(std::string_view text, TimeUnit unit) {
  text = trimmed(text);
  int exponent = static_cast<int>(unit);
  if (const std::size_t e = text.find_first_of("eE"); e != text.npos) {
    std::string_view digits = text.substr(e + 1);
    if (digits.starts_with('+')) digits.remove_prefix(1);
    int more = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), more);
    if (error != std::errc() || end != digits.data() + digits.size() || more < -400 || more > 400)
      return std::nullopt;
    exponent += more;
    text = text.substr(0, e);
  }
  const bool is_negative = text.starts_with('-');
  if (is_negative || text.starts_with('+')) text.remove_prefix(1);
  constexpr std::int64_t kLargest = 4'000'000'000'000'000'000;  // until the year 2096
  std::int64_t value = 0;
  bool has_digit = false, is_behind_point = false;
  int next = -1;  // the first digit that is cut off
  for (const char c : text) {
    if (c == '.' && !is_behind_point) {
      is_behind_point = true;
      continue;
    }
    if (c < '0' || c > '9') return std::nullopt;
    has_digit = true;
    if (is_behind_point) {
      if (exponent <= 0) {
        if (next < 0) next = exponent == 0 ? c - '0' : 0;
        continue;
      }
      --exponent;
    }
    if (value > kLargest / 10) return std::nullopt;
    value = value * 10 + (c - '0');
  }
  if (!has_digit) return std::nullopt;
  for (; exponent > 0 && value != 0; --exponent) {
    if (value > kLargest / 10) return std::nullopt;
    value *= 10;
  }
  for (; exponent < 0 && value != 0; ++exponent) {
    next = static_cast<int>(value % 10);
    value /= 10;
  }
  if (next >= 5 && exponent >= 0) ++value;
  return is_negative ? -value : value;
}

}  // namespace nb::profiler
