#include "harness/base/portable_math.hpp"

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "harness/base/check.hpp"

// exp, expm1, log, log1p, sin, cos and tanh follow fdlibm (Sun Microsystems, 1993;
// netlib.org/fdlibm): its polynomials and its order of operations. Only + - * / sqrt, std::fma and
// integer arithmetic, and the compiler contracts nothing, so every host computes the same bits.

namespace nb::pm {

namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kLn2High =
    6.93147180369123816490e-01;  // its low 32 bits are zero: k × it is exact
constexpr double kLn2Low = 1.90821492927058770002e-10;
constexpr double kInvLn2 = 1.44269504088896338700e+00;

// Sum of two doubles kept as two: high = round(high + low).
struct Double2 {
  double high;
  double low;
};
Double2 fast_two_sum(double a, double b) {  // |a| >= |b| or a == 0
  const double sum = a + b;
  return {sum, b - (sum - a)};
}
Double2 two_sum(double a, double b) {
  const double sum = a + b;
  const double b_part = sum - a;
  return {sum, (a - (sum - b_part)) + (b - b_part)};
}
Double2 two_product(double a, double b) {
  const double product = a * b;
  return {product, std::fma(a, b, -product)};
}

double two_to(int k) {  // -1022 <= k <= 1023
  return std::bit_cast<double>(static_cast<std::uint64_t>(k + 1023) << 52);
}

// x · 2^k, rounded once at the end also where the result is subnormal.
double scale(double x, int k) {
  if (k > 1023) return x * two_to(1023) * two_to(k - 1023);
  if (k < -1022) return x * two_to(k + 512) * two_to(-512);
  return x * two_to(k);
}

int nearest_int(double x) {  // |x| < 2^31; halves away from zero
  return static_cast<int>(x < 0 ? x - 0.5 : x + 0.5);
}

// x = m · 2^k with m in [√½, √2).
struct Split {
  double m;
  int k;
};
Split split(double x) {  // x > 0, finite
  int k = 0;
  if (x < 0x1p-1022) {
    x *= 0x1p54;
    k = -54;
  }
  const auto bits = std::bit_cast<std::uint64_t>(x);
  k += static_cast<int>(bits >> 52) - 1023;
  double m = std::bit_cast<double>((bits & 0x000fffffffffffffULL) | 0x3ff0000000000000ULL);
  if (m > 1.4142135623730951) {
    m *= 0.5;
    ++k;
  }
  return {m, k};
}

// exp(high + low), |low| ≤ ulp(high): fdlibm e_exp.c with the low part carried along.
double exp_of(double high, double low) {
  if (high > 709.782712893384) return kInf;
  if (high < -745.1332191019412) return 0;
  const int k = nearest_int(high * kInvLn2);
  const double r_high = high - k * kLn2High;
  const double r_low = k * kLn2Low - low;
  const double r = r_high - r_low;
  const double t = r * r;
  const double c =
      r - t * (1.66666666666666019037e-01 +
               t * (-2.77777777770155933842e-03 +
                    t * (6.61375632143793436117e-05 +
                         t * (-1.65339022054652515390e-06 + t * 4.13813679705723846039e-08))));
  const double y = 1 - ((r_low - (r * c) / (2 - c)) - r_high);
  return scale(y, k);
}

// fdlibm's polynomial of log: log(1 + f) = f − (hfsq − s·(hfsq + R)), s = f/(2 + f).
double log_tail(double s) {
  const double z = s * s;
  const double w = z * z;
  const double even = w * (3.999999999940941908e-01 +
                           w * (2.222219843214978396e-01 + w * 1.531383769920937332e-01));
  const double odd = z * (6.666666666666735130e-01 +
                          w * (2.857142874366239149e-01 +
                               w * (1.818357216161805012e-01 + w * 1.479819860511658591e-01)));
  return even + odd;
}

// log(x) as two doubles, relative error below 2^-60: 2·atanh(s) with its first term carried
// exactly.
Double2 log2_parts(double x) {
  const auto [m, k] = split(x);
  const double f = m - 1;  // exact
  const Double2 denominator = fast_two_sum(2, f);
  const double s_high = f / denominator.high;
  const double s_low =
      (std::fma(-s_high, denominator.high, f) - s_high * denominator.low) / denominator.high;
  // atanh(s) = s + s³/3 + s⁵/5 + …; |s| ≤ 0.1716, so 12 terms reach 2^-66.
  const double z = s_high * s_high;
  double tail = 0;
  for (int n = 25; n >= 3; n -= 2) tail = tail * z + 1.0 / n;
  const double rest = 2 * (s_low + s_high * z * tail);
  Double2 sum = fast_two_sum(2 * s_high, rest);
  const Double2 shifted = two_sum(k * kLn2High, sum.high);
  return fast_two_sum(shifted.high, shifted.low + (sum.low + k * kLn2Low));
}

// x − n·π/2 with n mod 4; fdlibm e_rem_pio2.c, medium range, always with its second and third
// steps.
struct Angle {
  double high;
  double low;
  int quadrant;
};
Angle reduce(double x) {
  NB_CHECK(x >= -1e5 && x <= 1e5, "[pm] sin and cos need |x| <= 1e5, have {}", x);
  const int n = nearest_int(x * 6.36619772367581382433e-01);
  // π/2 in three exact parts of 33 bits and a tail.
  const double first = x - n * 1.57079632673412561417e+00;  // exact
  const Double2 second = two_sum(first, -(n * 6.07710050630396597660e-11));
  const Double2 third = two_sum(second.high, -(n * 2.02226624871116645580e-21));
  const double tail = second.low + third.low - n * 8.47842766036889956997e-32;
  const Double2 sum = fast_two_sum(third.high, tail);
  return {sum.high, sum.low, n & 3};
}

double kernel_sin(double x, double y) {
  const double z = x * x;
  const double v = z * x;
  const double r = 8.33333333332248946124e-03 +
                   z * (-1.98412698298579493134e-04 +
                        z * (2.75573137070700676789e-06 +
                             z * (-2.50507602534068634195e-08 + z * 1.58969099521155010221e-10)));
  return x - ((z * (0.5 * y - v * r) - y) - v * -1.66666666666666324348e-01);
}

double kernel_cos(double x, double y) {
  const double z = x * x;
  const double r =
      z * (4.16666666666666019037e-02 +
           z * (-1.38888888888741095749e-03 +
                z * (2.48015872894767294178e-05 +
                     z * (-2.75573143513906633035e-07 +
                          z * (2.08757232129817482790e-09 + z * -1.13596475577881948265e-11)))));
  const double half = 0.5 * z;
  const double w = 1 - half;
  return w + (((1 - w) - half) + (z * r - x * y));
}

}  // namespace

double exp(double x) {
  if (x != x) return kNan;
  return exp_of(x, 0);
}

double expm1(double x) {
  if (x != x) return kNan;
  if (x > 709.782712893384) return kInf;
  if (x < -56 * 0.6931471805599453) return -1;
  if (x > -0x1p-54 && x < 0x1p-54) return x;
  // fdlibm s_expm1.c.
  int k = 0;
  double c = 0;
  if (x > 0.34657359027997264 || x < -0.34657359027997264) {
    k = nearest_int(x * kInvLn2);
    const double high = x - k * kLn2High;
    const double low = k * kLn2Low;
    x = high - low;
    c = (high - x) - low;
  }
  const double half = 0.5 * x;
  const double hxs = x * half;
  const double r1 = 1 + hxs * (-3.33333333333331316428e-02 +
                               hxs * (1.58730158725481460165e-03 +
                                      hxs * (-7.93650757867487942473e-05 +
                                             hxs * (4.00821782732936239552e-06 +
                                                    hxs * -2.01099218183624371326e-07))));
  const double t = 3 - r1 * half;
  double e = hxs * ((r1 - t) / (6 - x * t));
  if (k == 0) return x - (x * e - hxs);
  e = x * (e - c) - c;
  e -= hxs;
  if (k == -1) return 0.5 * (x - e) - 0.5;
  if (k == 1) return x < -0.25 ? -2 * (e - (x + 0.5)) : 1 + 2 * (x - e);
  if (k <= -2 || k > 56) return scale(1 - (e - x), k) - 1;
  if (k < 20) return scale((1 - two_to(-k)) - (e - x), k);
  return scale((x - (e + two_to(-k))) + 1, k);
}

double log(double x) {
  if (!(x >= 0)) return kNan;  // negative or NaN
  if (x == 0) return -kInf;
  if (x == kInf) return kInf;
  // fdlibm e_log.c.
  const auto [m, k] = split(x);
  const double f = m - 1;
  const double s = f / (2 + f);
  const double hfsq = 0.5 * f * f;
  const double r = log_tail(s);
  if (k == 0) return f - (hfsq - s * (hfsq + r));
  return k * kLn2High - ((hfsq - (s * (hfsq + r) + k * kLn2Low)) - f);
}

double log1p(double x) {
  if (!(x >= -1)) return kNan;
  if (x == -1) return -kInf;
  if (x == kInf) return kInf;
  if (x > -0x1p-54 && x < 0x1p-54) return x;
  // log(1 + x) = log(u) + c/u with u = round(1 + x): fdlibm s_log1p.c.
  const Double2 sum = two_sum(1, x);
  const auto [m, k] = split(sum.high);
  const double c = sum.low / sum.high;
  const double f = k == 0 && sum.low != 0 && x > -0.2929 && x < 0.41422 ? x : m - 1;
  const double correction = f == x ? 0 : c;
  const double s = f / (2 + f);
  const double hfsq = 0.5 * f * f;
  const double r = log_tail(s);
  if (k == 0) return f - (hfsq - (s * (hfsq + r) + correction));
  return k * kLn2High - ((hfsq - (s * (hfsq + r) + (k * kLn2Low + correction))) - f);
}

double log2(double x) {
  if (!(x >= 0)) return kNan;
  if (x == 0) return -kInf;
  if (x == kInf) return kInf;
  const auto [m, k] = split(x);
  const Double2 natural = log2_parts(m);
  // 1/ln 2 in two doubles.
  const Double2 product = two_product(natural.high, 1.4426950408889634);
  const double low =
      product.low + natural.high * 2.0355273740931033e-17 + natural.low * 1.4426950408889634;
  const Double2 sum = two_sum(k, product.high);
  return sum.high + (sum.low + low);
}

double sin(double x) {
  if (x != x || x == kInf || x == -kInf) return kNan;
  if (x == 0) return x;
  const Angle a = reduce(x);
  const double value = a.quadrant % 2 == 0 ? kernel_sin(a.high, a.low) : kernel_cos(a.high, a.low);
  return a.quadrant < 2 ? value : -value;
}

double cos(double x) {
  if (x != x || x == kInf || x == -kInf) return kNan;
  const Angle a = reduce(x);
  const double value = a.quadrant % 2 == 0 ? kernel_cos(a.high, a.low) : kernel_sin(a.high, a.low);
  return a.quadrant == 0 || a.quadrant == 3 ? value : -value;
}

double tanh(double x) {
  if (x != x) return kNan;
  // fdlibm s_tanh.c.
  const double size = x < 0 ? -x : x;
  double value = 1;
  if (size < 0x1p-28)
    value = size;
  else if (size < 1) {
    const double t = expm1(-2 * size);
    value = -t / (t + 2);
  } else if (size < 22) {
    value = 1 - 2 / (expm1(2 * size) + 2);
  }
  return x < 0 ? -value : value;
}

double pow(double base, double exponent) {
  if (exponent == 0 || base == 1) return 1;
  if (base != base || exponent != exponent) return kNan;
  const bool is_integer = (exponent >= 0x1p53 || exponent <= -0x1p53) ||
                          exponent == static_cast<double>(static_cast<std::int64_t>(exponent));
  if (is_integer && exponent >= -64 && exponent <= 64) {
    const int n = static_cast<int>(exponent);
    double square = base;
    double product = 1;
    for (int bits = n < 0 ? -n : n; bits != 0; bits /= 2) {
      if (bits % 2 == 1) product *= square;
      square *= square;
    }
    if (n > 0) return product;
    // An overflow on the way down is not one of the result.
    if (std::isnormal(product)) return 1 / product;
  }
  if (base < 0) {
    if (!is_integer) return kNan;
    const bool is_odd =
        exponent < 0x1p53 && exponent > -0x1p53 && static_cast<std::int64_t>(exponent) % 2 != 0;
    const double size = pow(-base, exponent);
    return is_odd ? -size : size;
  }
  if (base == 0 || base == kInf) return (base == 0) == (exponent > 0) ? 0 : kInf;
  if (exponent == kInf || exponent == -kInf) return (base > 1) == (exponent > 0) ? kInf : 0;
  const Double2 logarithm = log2_parts(base);
  const Double2 product = two_product(exponent, logarithm.high);
  if (product.high > 710) return kInf;
  if (product.high < -746) return 0;
  const Double2 sum = fast_two_sum(product.high, product.low + exponent * logarithm.low);
  return exp_of(sum.high, sum.low);
}

double sqrt(double x) { return std::sqrt(x); }

}  // namespace nb::pm
