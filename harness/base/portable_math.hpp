// Double-precision exp, log, sin, cos, tanh, pow … with the same bits on every host (no libm).
// Used by schedules, tables, statistics, verdicts. Own polynomials; maximum error
// beside each and tested.
#pragma once

namespace nb::pm {

double exp(double x);    // ≤ 1 ulp
double expm1(double x);  // ≤ 2 ulp
double log(double x);    // ≤ 1 ulp; x < 0: NaN, 0: -inf
double log1p(double x);  // ≤ 2 ulp
double log2(double x);   // ≤ 2 ulp
double sin(double x);    // |x| ≤ 1e5: ≤ 1 ulp + reduction 2^-60
double cos(double x);
double tanh(double x);                     // ≤ 2 ulp
double pow(double base, double exponent);  // base > 0; ≤ 1e-14 relative; integers exact by squaring
double sqrt(double x);                     // IEEE exact
double lgamma(double x);                   // x > 0; ≤ 1e-13 relative or absolute
double erf(double x);                      // ≤ 1e-14
double normal_cdf(double z);
double normal_quantile(double p);  // 0 < p < 1; |Φ(q) − p| ≤ 1e-14

}  // namespace nb::pm
