// exp, log and tanh of sixteen fp32 lanes: argument reduction and own minimax polynomials (least
// squares on Chebyshev nodes, reweighted to equal ripple; coefficients rounded to fp32). Errors:
// vector_math.hpp.
#pragma once

#include "model/kernels/inner/vec.hpp"

NB_LOCAL_BEGIN

NB_OP Floats power_of_two(Bits n) {  // n in [-126, 127]
  return floats(shift_left<23>(n + all_bits(127u)));
}

// exp(x) = fraction × 2^n for finite x of moderate size.
struct ExpParts {
  Floats fraction;
  Bits n;
};
NB_OP ExpParts exp_parts(Floats x) {
  const Bits n = to_int(x * all(1.44269502f));
  const Floats k = to_float(n);
  Floats r =
      fma(k, all(-0.693359375f), x);  // ln 2 in two parts, the first exact in products with k
  r = fma(k, all(2.12194440e-4f), r);
  Floats q = all(0.000197900314f);
  q = fma(q, r, all(0.00139449793f));
  q = fma(q, r, all(0.00833349861f));
  q = fma(q, r, all(0.0416662917f));
  q = fma(q, r, all(0.166666657f));
  q = fma(q, r, all(0.5f));
  return {fma(r * r, q, r) + all(1.0f), n};
}

NB_OP Floats vec_exp(Floats x) {
  const Mask nan = is_nan(x);
  Floats c = select(x < all(-104.0f), all(-104.0f), x);  // exp(-104) < 2^-150
  c = select(all(89.0f) < c, all(89.0f), c);
  c = select(nan, all(0.0f), c);
  const ExpParts e = exp_parts(c);
  const Bits half =
      shift_right_signed<1>(e.n);  // two factors, so that a denormal result is rounded once
  const Floats y = (e.fraction * power_of_two(half)) * power_of_two(e.n - half);
  return select(nan, canonical_nan(), y);
}

// The bits of vec_exp for x in [-87, 87], where the result is normal: no special cases.
NB_OP Floats ordinary_exp(Floats x) {
  const ExpParts e = exp_parts(x);
  return floats(bits(e.fraction) + shift_left<23>(e.n));
}

NB_OP Floats vec_log(Floats x) {
  const Mask denormal = x < all(0x1p-126f);
  const Floats scaled = select(denormal, x * all(0x1p23f), x);
  const Bits u = bits(scaled) - all_bits(0x3f3504f3u);  // mantissa in [sqrt(1/2), sqrt(2))
  const Bits shift = bits(select(denormal, floats(all_bits(23u)), floats(all_bits(0u))));
  const Floats k = to_float(shift_right_signed<23>(u) - shift);
  const Floats f = floats((u & all_bits(0x007fffffu)) + all_bits(0x3f3504f3u)) - all(1.0f);
  Floats q = all(0.0674660131f);
  q = fma(q, f, all(-0.116756409f));
  q = fma(q, f, all(0.118881747f));
  q = fma(q, f, all(-0.124055915f));
  q = fma(q, f, all(0.142195508f));
  q = fma(q, f, all(-0.166679963f));
  q = fma(q, f, all(0.200021192f));
  q = fma(q, f, all(-0.250000089f));
  q = fma(q, f, all(0.333333135f));
  const Floats square = f * f;
  Floats y = (square * f) * q;
  y = fma(k, all(-2.12194440e-4f), y);
  y = fma(all(-0.5f), square, y);
  y = fma(k, all(0.693359375f), f + y);
  const Floats infinity = floats(all_bits(0x7f800000u));
  y = select(x < infinity, y, x);  // +inf
  y = select(x <= all(0.0f), floats(all_bits(0xff800000u)), y);
  const Floats nan = canonical_nan();
  return select(x < all(0.0f), nan, select(is_nan(x), nan, y));
}

// tanh(x) for x in (-0.625, 0.625) but -0; square: of x.
NB_OP Floats small_tanh(Floats x, Floats square) {
  Floats q = all(0.00214295881f);
  q = fma(q, square, all(-0.00817739498f));
  q = fma(q, square, all(0.0217007007f));
  q = fma(q, square, all(-0.0539467633f));
  q = fma(q, square, all(0.133332059f));
  q = fma(q, square, all(-0.333333313f));
  return fma(x * square, q, x);
}

NB_OP Floats vec_tanh(Floats x) {
  const Floats size = magnitude(x);
  const Bits sign = bits(x) & all_bits(0x80000000u);
  const Floats e = vec_exp(size + size);
  const Floats large = all(1.0f) - all(2.0f) / (e + all(1.0f));
  const Floats y =
      floats(bits(select(size < all(0.625f), small_tanh(size, size * size), large)) | sign);
  return select(is_nan(x), canonical_nan(), y);
}

// Σ over one row in 16 virtual lanes: acc = body(acc, i, lanes) for each group.
template <class Body>
NB_OP float lane_sum(std::int64_t n, const Body& body) {
  Floats acc = all(0.0f);
  each_group(n,
             [&](std::int64_t i, int lanes) { acc = keep_lanes(body(acc, i, lanes), acc, lanes); });
  return tree_sum(acc);
}

NB_LOCAL_END
