// The stated errors over every binade of the doubles, against the C library in extended precision
// (64 bits of mantissa on x86, 113 on AArch64), which is otherwise used nowhere. Few points with
// certain digits are in portable_math_test.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <vector>

#include "harness/base/portable_math.hpp"

namespace nb {
namespace {

#if defined(__aarch64__)
constexpr std::uint64_t kPerBinade = 8;  // 113 bits are computed in software, often emulated
#else
constexpr std::uint64_t kPerBinade = 64;
#endif

// So many mantissas of each binade, denormal ones included: the ends and an uneven comb.
std::vector<double> every_binade() {
  std::vector<double> x;
  constexpr std::uint64_t kMantissa = (std::uint64_t{1} << 52) - 1;
  for (std::uint64_t exponent = 0; exponent < 2047; ++exponent) {
    for (std::uint64_t i = 0; i < kPerBinade; ++i) {
      const std::uint64_t comb =
          (i * 0x1234567890abcULL + exponent * 0x9e3779b97f4a7ULL) & kMantissa;
      const std::uint64_t mantissa = i < 2 ? i : i < 4 ? kMantissa + 2 - i : comb;
      x.push_back(std::bit_cast<double>(exponent << 52 | mantissa));
    }
  }
  return x;
}

struct Dense {
  const char* name;
  double (*ours)(double);
  long double (*exact)(long double);
  double limit_ulp;
  double low, high;     // arguments outside are left out
  double absolute = 0;  // allowed on top
};
const Dense kDense[] = {
    {"exp", pm::exp, std::exp, 1, -745.2, 709.8},
    {"expm1", pm::expm1, std::expm1, 2, -745.2, 709.8},
    {"log", pm::log, std::log, 1, 0x1p-1074, 0x1.fffffffffffffp1023},
    {"log1p", pm::log1p, std::log1p, 2, -0x1.fffffffffffffp-1, 0x1.fffffffffffffp1023},
    {"log2", pm::log2, std::log2, 2, 0x1p-1074, 0x1.fffffffffffffp1023},
    {"tanh", pm::tanh, std::tanh, 2, -1e300, 1e300},
    {"sin", pm::sin, std::sin, 1, -1e5, 1e5, 0x1p-60},
    {"cos", pm::cos, std::cos, 1, -1e5, 1e5, 0x1p-60},
};

double error_ulp(double ours, long double exact, double absolute) {
  const auto rounded = static_cast<double>(exact);
  if (std::isinf(rounded)) return ours == rounded ? 0 : 1e9;
  const double size = std::fabs(rounded);
  const double ulp = size < 0x1p-1022 ? 0x1p-1074 : std::ldexp(1.0, std::ilogb(size) - 52);
  const auto error = static_cast<double>(std::fabs(static_cast<long double>(ours) - exact));
  return (error > absolute ? error - absolute : 0) / ulp;
}

class PortableMathDense : public testing::TestWithParam<Dense> {};

TEST_P(PortableMathDense, StaysWithinItsStatedErrorInEveryBinade) {
  const Dense& f = GetParam();
  std::vector<double> points = every_binade();
  // Where results cancel: about one (logarithms) and about multiples of π/2 (sine and cosine).
  for (int k = 1; k <= 52; ++k)
    for (const double sign : {-1.0, 1.0}) points.push_back(1.0 + sign * std::ldexp(1.0, -k));
  for (int k = 1; k < 63'000; k += k < 100 ? 1 : 611) {
    const double zero = k * 1.5707963267948966;
    for (const double x : {zero, std::nextafter(zero, 0.0), std::nextafter(zero, 1e9)})
      points.push_back(x);
  }
  double worst = 0, at = 0;
  std::size_t count = 0;
  for (const double size : points) {
    for (const double x : {size, -size}) {
      if (x < f.low || x > f.high) continue;
      ++count;
      const double error = error_ulp(f.ours(x), f.exact(static_cast<long double>(x)), f.absolute);
      if (error > worst) worst = error, at = x;
    }
  }
  std::printf("  %-6s %zu points, at most %.3f ulp, at %a\n", f.name, count, worst, at);
  EXPECT_LE(worst, f.limit_ulp) << f.name << " at " << at;
  EXPECT_GT(count, 2'000 * kPerBinade);
}

INSTANTIATE_TEST_SUITE_P(All, PortableMathDense, testing::ValuesIn(kDense),
                         [](const auto& test) { return std::string(test.param.name); });

}  // namespace
}  // namespace nb
