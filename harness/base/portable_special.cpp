#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "harness/base/portable_math.hpp"

// lgamma, erf and the normal distribution, on top of portable_math.cpp's functions.

namespace nb::pm {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNotANumber = std::numeric_limits<double>::quiet_NaN();

// exp(-x²/scale) without the rounding of x² (which would cost x² ulp); scale is 1 or 2.
double exp_minus_square(double x, double scale) {
  const double square = x * x;
  const double rest = std::fma(x, x, -square);
  return exp(-square / scale) * (1 - rest / scale);
}

// 1 + q/3 + q²/15 + q³/105 + …: ∫ of exp(-t²/2) from 0 to z is z·exp(-z²/2) times this at q = z².
// All terms positive, so nothing cancels. 0 <= q <= 9: 45 terms.
double bell_series(double q) {
  double term = 1;
  double sum = 1;
  for (int n = 3; n < 100 && term > sum * 0x1p-56; n += 2) {
    term *= q / n;
    sum += term;
  }
  return sum;
}

// Mills ratio (1 − Φ(z))/φ(z), z >= 1.5, by its continued fraction 1/(z + 1/(z + 2/(z + …))).
double mills_ratio(double z) {
  double fraction = z;
  for (int n = 200; n >= 1; --n) fraction = z + n / fraction;
  return 1 / fraction;
}

constexpr double kInvSqrt2Pi = 0.3989422804014327;
constexpr double kSqrt2 = 1.4142135623730951;

// Φ(z) for z <= 0, with relative accuracy in the tail.
double lower_tail(double z) {
  const double density = kInvSqrt2Pi * exp_minus_square(z, 2);
  return z > -1.5 ? 0.5 + z * density * bell_series(z * z) : density * mills_ratio(-z);
}

double polynomial(const std::array<double, 6>& c, double x) {
  double value = c[0];
  for (std::size_t i = 1; i < c.size(); ++i) value = value * x + c[i];
  return value;
}

// P. J. Acklam's rational approximation of the normal quantile (2003), relative error 1.15e-9;
// 0 < p <= 1/2.
double rough_quantile(double p) {
  constexpr std::array kA = {-3.969683028665376e+01, 2.209460984245205e+02,  -2.759285104469687e+02,
                             1.383577518672690e+02,  -3.066479806614716e+01, 2.506628277459239e+00};
  constexpr std::array kB = {-5.447609879822406e+01, 1.615858368580409e+02,  -1.556989798598866e+02,
                             6.680131188771972e+01,  -1.328068155288572e+01, 1.0};
  constexpr std::array kC = {-7.784894002430293e-03, -3.223964580411365e-01, -2.400758277161838e+00,
                             -2.549732539343734e+00, 4.374664141464968e+00,  2.938163982698783e+00};
  constexpr std::array kD = {0.0,
                             7.784695709041462e-03,
                             3.224671290700398e-01,
                             2.445134137142996e+00,
                             3.754408661907416e+00,
                             1.0};
  if (p < 0.02425) {
    const double q = sqrt(-2 * log(p));
    return polynomial(kC, q) / polynomial(kD, q);
  }
  const double q = p - 0.5;
  const double r = q * q;
  return polynomial(kA, r) * q / polynomial(kB, r);
}

}  // namespace

double lgamma(double x) {
  if (!(x > 0)) return kNotANumber;
  if (x == kInfinity) return kInfinity;
  if (x == 1 || x == 2) return 0;
  // Γ(x) = Γ(x + n)/(x(x+1)…(x+n−1)) lifts x to 12, where Stirling's series is good to 1e-17.
  double product = 1;
  while (x < 12) {
    product *= x;
    x += 1;
  }
  const double inverse = 1 / x;
  const double q = inverse * inverse;
  const double series =
      inverse *
      (1.0 / 12 +
       q * (-1.0 / 360 +
            q * (1.0 / 1260 +
                 q * (-1.0 / 1680 +
                      q * (1.0 / 1188 +
                           q * (-691.0 / 360360 + q * (1.0 / 156 + q * (-3617.0 / 122400))))))));
  constexpr double kHalfLog2Pi = 0.9189385332046728;
  const double stirling = (x - 0.5) * log(x) - x + kHalfLog2Pi + series;
  return product == 1 ? stirling : stirling - log(product);
}

double erf(double x) {
  if (x != x) return kNotANumber;
  const double size = x < 0 ? -x : x;
  constexpr double kTwoOverSqrtPi = 1.1283791670955126;
  double value = 1;
  if (size < 1.8)
    value = kTwoOverSqrtPi * size * exp_minus_square(size, 1) * bell_series(2 * size * size);
  else if (size < 6)
    value = 1 - kTwoOverSqrtPi / kSqrt2 * exp_minus_square(size, 1) * mills_ratio(size * kSqrt2);
  return x < 0 ? -value : value;
}

double normal_cdf(double z) {
  if (z != z) return kNotANumber;
  if (z < -39) return 0;
  if (z > 9) return 1;
  return z <= 0 ? lower_tail(z) : 1 - lower_tail(-z);
}

double normal_quantile(double p) {
  if (!(p >= 0 && p <= 1)) return kNotANumber;
  if (p == 0) return -kInfinity;
  if (p == 1) return kInfinity;
  if (p > 0.5) return -normal_quantile(1 - p);  // 1 - p is exact here
  double z = rough_quantile(p);
  for (int i = 0; i < 2; ++i) {  // Halley's step on Φ(z) = p
    const double step = (lower_tail(std::min(z, 0.0)) - p) / (kInvSqrt2Pi * exp_minus_square(z, 2));
    z -= step / (1 + z * step / 2);
  }
  return std::min(z, 0.0);
}

}  // namespace nb::pm
