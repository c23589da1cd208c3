#include "results/compare/curve_noise.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "harness/base/portable_math.hpp"
#include "results/stats/stats.hpp"

namespace nb {
namespace {

constexpr double kMedianOfNormal = 0.6744897501960817;  // median of |z|
constexpr std::size_t kLooked = 400;                    // values are enough to tell their digits

}  // namespace

double noise_at_lag(const std::vector<double>& values, std::size_t lag) {
  if (lag == 0 || values.size() < 2 * lag + 1) return 0;
  std::vector<double> seconds;
  seconds.reserve(values.size() - 2 * lag);
  for (std::size_t i = 0; i + 2 * lag < values.size(); ++i)
    seconds.push_back(std::fabs(values[i] - 2 * values[i + lag] + values[i + 2 * lag]));
  return median(std::move(seconds)) / (kMedianOfNormal * pm::sqrt(6));
}

double wandering_noise(const std::vector<double>& values) {
  double largest = noise_at_lag(values, 1);
  for (std::size_t lag = 2; lag <= values.size() / 7; lag *= 2)
    largest = std::max(largest, noise_at_lag(values, lag));
  return largest;
}

double noise_upper80(double noise, std::size_t count) {
  // Second differences overlap, and a median tells less than a mean square: a quarter of them
  // counts.
  const double df = std::max(1.0, (static_cast<double>(count) - 2) / 4);
  return noise > 0 ? sd_upper80(noise, df) : 0;
}

double printed_unit(const std::vector<double>& values) {
  double unit = 1;
  for (int decimals = 0; decimals <= 7; ++decimals, unit /= 10) {
    const auto is_whole = [&](double value) {
      const double units = value / unit;
      return std::fabs(units - std::round(units)) <= 1e-9 * std::max(1.0, std::fabs(units));
    };
    if (std::all_of(values.begin(),
                    values.begin() + static_cast<std::ptrdiff_t>(std::min(values.size(), kLooked)),
                    is_whole))
      return unit;
  }
  return 0;
}

int significant_digits(const std::vector<double>& values) {
  int most = 1;
  for (std::size_t i = 0; i < std::min(values.size(), kLooked); ++i)
    while (most < 17 &&
           std::strtod(fmt::format("{:.{}e}", values[i], most - 1).c_str(), nullptr) != values[i])
      ++most;
  return most;
}

bool equal_to_digits(double a, double b, int digits) {
  if (a == b) return true;
  const double size = std::max(std::fabs(a), std::fabs(b));
  const double unit = pm::pow(10, std::floor(pm::log(size) / pm::log(10)) - digits + 1);
  return std::fabs(a - b) <= .5000001 * unit;
}

}  // namespace nb
