#include "results/stats/stats_walked.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "harness/base/check.hpp"
#include "harness/base/portable_math.hpp"

namespace nb {
namespace {

constexpr std::size_t kHeld = 4096;  // so few values are sorted in memory
constexpr int kDigitBits = 11;
constexpr int kKeyBits = 64;
constexpr std::uint64_t kSign = std::uint64_t{1} << 63U;

template <class Take>
void for_each(const WalkedValues& values, const Take& take) {
  values.walk([&](std::span<const double> some) {
    for (const double value : some) take(value);
  });
}

// Rises with the value; 0 and -0 have one.
std::uint64_t key_of(double value) {
  const auto bits = std::bit_cast<std::uint64_t>(value + 0.0);
  return (bits & kSign) != 0 ? ~bits : bits | kSign;
}

// The value at `rank`, from 0, of all values sorted, and the one after it (infinite: there is
// none). Digit by digit of the key, from the highest: how many values begin so, until few enough
// are left.
std::pair<double, double> neighbours(const WalkedValues& values, std::size_t rank) {
  NB_CHECK(rank < values.size, "[rank] {} of {} values", rank, values.size);
  std::uint64_t prefix = 0;
  int known_bits = 0;
  std::size_t below = 0, inside = values.size;  // values below the prefix, and with it
  const auto begins = [&](double value) {
    return known_bits == 0 ? std::uint64_t{0} : key_of(value) >> unsigned(kKeyBits - known_bits);
  };
  while (inside > kHeld && known_bits < kKeyBits) {
    const int bits = std::min(kDigitBits, kKeyBits - known_bits);
    const auto shift = unsigned(kKeyBits - known_bits - bits);
    const std::uint64_t mask = (std::uint64_t{1} << unsigned(bits)) - 1;
    std::array<std::size_t, std::size_t{1} << unsigned(kDigitBits)> counts{};
    for_each(values, [&](double value) {
      if (begins(value) == prefix) ++counts[(key_of(value) >> shift) & mask];
    });
    std::size_t digit = 0;
    while (below + counts[digit] <= rank) below += counts[digit++];
    prefix = (prefix << unsigned(bits)) | digit;
    known_bits += bits;
    inside = counts[digit];
  }
  std::vector<double> held;  // those with the prefix; one of them where they are all equal
  double above = std::numeric_limits<double>::infinity();
  for_each(values, [&](double value) {
    const std::uint64_t beginning = begins(value);
    if (beginning > prefix) above = std::min(above, value);
    if (beginning == prefix && (known_bits < kKeyBits || held.empty())) held.push_back(value);
  });
  std::sort(held.begin(), held.end());
  const std::size_t at = rank - below;
  if (known_bits == kKeyBits) return {held[0], at + 1 < inside ? held[0] : above};
  return {held[at], at + 1 < held.size() ? held[at + 1] : above};
}

}  // namespace

double mean(const WalkedValues& values) {
  NB_CHECK(values.size > 0, "[mean] of no values");
  double sum = 0;
  for_each(values, [&](double value) { sum += value; });
  return sum / static_cast<double>(values.size);
}

double sample_sd(const WalkedValues& values) {
  NB_CHECK(values.size >= 2, "[sd] of {} values", values.size);
  const double centre = mean(values);
  double sum = 0;
  for_each(values, [&](double value) { sum += (value - centre) * (value - centre); });
  return pm::sqrt(sum / static_cast<double>(values.size - 1));
}

double median(const WalkedValues& values) {
  NB_CHECK(values.size > 0, "[median] of no values");
  const auto [low, high] = neighbours(values, (values.size - 1) / 2);
  return values.size % 2 == 1 ? low : (low + high) / 2;
}

double quantile(const WalkedValues& values, double p) {
  NB_CHECK(values.size > 0 && p >= 0 && p <= 1, "[quantile] {} of {} values", p, values.size);
  const double at = p * static_cast<double>(values.size - 1);
  const auto rank = static_cast<std::size_t>(at);
  const auto [low, high] = neighbours(values, rank);
  if (rank + 1 >= values.size) return low;
  return low + (at - static_cast<double>(rank)) * (high - low);
}

MeanTest paired_t(const WalkedValues& differences) {
  const auto n = static_cast<double>(differences.size);
  const double error = sample_sd(differences) / pm::sqrt(n);
  double low = std::numeric_limits<double>::infinity(), high = -low;
  for_each(differences, [&](double value) {
    low = std::min(low, value);
    high = std::max(high, value);
  });
  // All moved alike: half of them would have moved the other way by chance (sign test).
  if (low == high || error == 0)
    return mean_test(low, 0, n - 1, std::ldexp(1.0, -static_cast<int>(differences.size)));
  return mean_test(mean(differences), error, n - 1, 1);
}

}  // namespace nb
