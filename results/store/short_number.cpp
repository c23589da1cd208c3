// What is usual is exact integer arithmetic, a tenth of the time of printing twice and reading
// once: half a million items have two million such numbers.
#include "results/store/short_number.hpp"

#include <fmt/format.h>

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <optional>

namespace nb {
namespace {

constexpr std::array<double, 12> kTens = {1,   1e1, 1e2, 1e3, 1e4,  1e5,
                                          1e6, 1e7, 1e8, 1e9, 1e10, 1e11};
constexpr std::uint32_t kEightDigits = 10'000'000;

std::string seven_digits(float value) {
  const std::string text = fmt::format("{:.7g}", static_cast<double>(value));
  return text == "-0" ? "0" : text;
}

// digits / 10^decimals, of seven digits.
struct Decimal {
  std::uint32_t digits;
  std::size_t decimals;
};

// Nothing: outside of [1e-4, 1e6), or half-way between two such numbers.
std::optional<Decimal> rounded(float value) {
  const double size = value;
  if (!(size >= 1e-4 && size < 1e6)) return std::nullopt;
  std::size_t decimals = 1;
  while (size * kTens[decimals] < 1e6) ++decimals;
  // Exact: 24 bits times at most 5^10, which has 24, are fewer than 53.
  const double scaled = size * kTens[decimals];
  auto digits = static_cast<std::uint32_t>(scaled);
  const double rest = scaled - digits;
  if (rest == .5) return std::nullopt;
  if (rest > .5) ++digits;
  if (digits == kEightDigits) return Decimal{digits / 10, decimals - 1};
  return Decimal{digits, decimals};
}

// The float that the number is read as; nothing: rounding to a double first might give another.
std::optional<float> read_again(const Decimal& number) {
  constexpr std::uint64_t kBeyondFloat = (std::uint64_t{1} << 29) - 1,
                          kHalf = std::uint64_t{1} << 28;
  const double value = number.digits / kTens[number.decimals];
  if ((std::bit_cast<std::uint64_t>(value) & kBeyondFloat) == kHalf) return std::nullopt;
  return static_cast<float>(value);
}

std::optional<Decimal> settled(float value) {
  const auto first = rounded(value);
  if (!first) return std::nullopt;
  const auto again = read_again(*first);
  if (!again) return std::nullopt;
  return *again == value ? first : rounded(*again);
}

}  // namespace

void append_short_number(float value, std::string& text) {
  const auto number = settled(std::fabs(value));
  if (!number) {
    text += seven_digits(std::strtof(seven_digits(value).c_str(), nullptr));
    return;
  }
  std::array<char, 24> buffer;
  char* at = buffer.data() + buffer.size();
  std::uint32_t digits = number->digits;
  std::size_t decimals = number->decimals;
  for (; decimals > 0 && digits % 10 == 0; --decimals) digits /= 10;
  for (std::size_t i = 0; i < decimals; ++i, digits /= 10)
    *--at = static_cast<char>('0' + digits % 10);
  if (decimals > 0) *--at = '.';
  do *--at = static_cast<char>('0' + digits % 10);
  while ((digits /= 10) > 0);
  if (value < 0) *--at = '-';
  text.append(at, buffer.data() + buffer.size());
}

}  // namespace nb
