// Logits on their way through soft-cap and cross-entropy, one row (or a strip of it) at a time: the
// arithmetic of cross_entropy.hpp split where a row's maximum and sum are needed, with t =
// tanh(x / cap) kept between the passes. Divisions, exponentials and roundings take short forms
// where they give the same bits; a row for which they might not is not "calm".
#include "model/kernels/inner/functions.hpp"
#include "model/kernels/inner/vec_math.hpp"

namespace nb::kernels::inner::NB_LEVEL {
namespace {

// x / y, correctly rounded, given inverse = 1 / y correctly rounded: two Newton steps on the
// quotient. The first leaves it within one unit in the last place; then the second is exact
// (Markstein: Computation of elementary functions on the IBM RISC System/6000, theorem on
// division). Holds while remainders are exact, which the callers' ranges ensure.
NB_OP Floats quotient(Floats x, Floats y, Floats inverse) {
  const Floats minus = all(-1.0f) * y;
  Floats q = x * inverse;
  q = fma(fma(minus, q, x), inverse, q);
  return fma(fma(minus, q, x), inverse, q);
}

template <int kRounding>
NB_OP Floats divided_by_cap(Floats x, const CapScalars& s) {
  // A bf16 number over the cap, rounded to bf16, is never nearer to a tie than the product with the
  // rounded inverse is to the quotient (checked for all 65536 by a test).
  if (kRounding == kRoundBf16 && s.multiplies) return x * all(s.inverse);
  return x / all(s.cap);
}

// Calls body(rounding of u and t, rounding of z, rounding of dz).
template <class Body>
NB_OP void with_roundings(const CapScalars& s, const Body& body) {
  with_rounding(s.storage, [&](auto storage) {
    if (s.eager) {
      body(storage, storage, storage);
    } else if (s.rounds_capped) {
      body(Constant<kRoundNone>(), storage, storage);
    } else {
      body(Constant<kRoundNone>(), Constant<kRoundNone>(), storage);
    }
  });
}

NB_OP Floats larger(Floats x, Floats best) { return select(best < x, x, best); }

// t of x; *calm becomes false where a NaN is met.
template <int kRounding>
NB_OP Floats tanh_of_capped(Floats x, const CapScalars& s, bool* calm) {
  const Floats u = rounded<kRounding>(divided_by_cap<kRounding>(x, s));
  const Floats size = magnitude(u);
  if (all_of(size < all(0.625f))) {  // nearly always
    const Bits sign = bits(u) & all_bits(0x80000000u);
    return rounded_calm<kRounding>(floats(bits(small_tanh(size)) | sign));
  }
  *calm = *calm && all_of(size <= floats(all_bits(0x7f800000u)));
  return rounded_calm<kRounding>(vec_tanh(u));
}

template <int kRounding, int kCapped>
NB_OP Floats capped_of(Floats t, const CapScalars& s) {
  if (s.cap == 0.0f) return s.rounds_capped ? rounded<kCapped>(t) : t;
  return rounded_calm<kCapped>(t * all(s.cap));
}

}  // namespace

void softcap(const float* x, std::int64_t n, const CapScalars& s, float* out) {
  bool calm = true;
  with_roundings(s, [&](auto inner, auto outer, auto) {
    constexpr int kInner = decltype(inner)::value, kOuter = decltype(outer)::value;
    each_group(n, [&](std::int64_t i, int lanes) {
      const Floats v = load_lanes(x + i, lanes);
      const Floats t = s.cap == 0.0f ? v : tanh_of_capped<kInner>(v, s, &calm);
      store_lanes(out + i, capped_of<kInner, kOuter>(t, s), lanes);
    });
  });
}

void cap_logits(float* x, std::int64_t n, const CapScalars& s, CapRow* row) {
  Floats best = load(row->best);
  bool calm = row->is_calm;
  with_roundings(s, [&](auto inner, auto outer, auto) {
    constexpr int kInner = decltype(inner)::value, kOuter = decltype(outer)::value;
    each_group(n, [&](std::int64_t i, int lanes) {
      const Floats v = load_lanes(x + i, lanes);
      Floats t = v;
      if (s.cap != 0.0f) {
        t = tanh_of_capped<kInner>(v, s, &calm);
        store_lanes(x + i, t, lanes);
      }
      const Floats z = capped_of<kInner, kOuter>(t, s);
      best = keep_lanes(larger(z, best), best, lanes);
    });
  });
  store(row->best, best);
  row->is_calm = calm;
}

float largest_capped(const CapRow& row) { return tree_max(load(row.best)); }

float capped_sum(const float* t, std::int64_t n, const CapScalars& s, float max, bool calm) {
  const Floats m = all(max);
  float sum = 0.0f;
  with_roundings(s, [&](auto inner, auto outer, auto) {
    constexpr int kInner = decltype(inner)::value, kOuter = decltype(outer)::value;
    const auto of = [&](const auto& exponential) {
      return lane_sum(n, [&](Floats acc, std::int64_t i, int lanes) {
        return acc + exponential(capped_of<kInner, kOuter>(load_lanes(t + i, lanes), s) - m);
      });
    };
    sum = calm ? of([](Floats v) { return calm_exp(v); }) : of([](Floats v) { return vec_exp(v); });
  });
  return sum;
}

float capped_value(float t, const CapScalars& s) {
  float z[16];
  with_roundings(s, [&](auto inner, auto outer, auto) {
    store(z, capped_of<decltype(inner)::value, decltype(outer)::value>(all(t), s));
  });
  return z[0];
}

std::int64_t first_capped(const float* t, std::int64_t n, const CapScalars& s, float max) {
  const Floats m = all(max);
  std::int64_t first = 0;
  with_roundings(s, [&](auto inner, auto outer, auto) {
    for (std::int64_t i = 0; i < n; i += 16) {
      const int lanes = lanes_left(n, i);
      const Floats z =
          capped_of<decltype(inner)::value, decltype(outer)::value>(load_lanes(t + i, lanes), s);
      if (all_of(z < m)) continue;
      float values[16];
      store(values, z);
      for (int lane = 0; lane < lanes; ++lane) {
        if (values[lane] != max) continue;
        first = i + lane;
        return;
      }
    }
  });
  return first;
}

void capped_gradient(float* t, std::int64_t n, std::int64_t target, float max, float sum,
                     float factor, const CapScalars& s, bool calm) {
  const Floats m = all(max), l = all(sum), f = all(factor), cap = all(s.cap), one = all(1.0f);
  const Floats inverse = one / l;
  with_roundings(s, [&](auto inner, auto outer, auto last) {
    constexpr int kInner = decltype(inner)::value, kOuter = decltype(outer)::value;
    constexpr int kLast = decltype(last)::value;
    const auto run = [&](const auto& probability) {
      each_group(n, [&](std::int64_t i, int lanes) {
        const Floats v = load_lanes(t + i, lanes);
        Floats g = probability(capped_of<kInner, kOuter>(v, s) - m);
        if (target >= i && target < i + lanes) {
          float hot[16] = {};
          hot[target - i] = 1.0f;
          g = g - load(hot);
        }
        g = g * f;
        if (s.cap == 0.0f) {
          g = rounded<kLast>(g);
        } else {
          const Floats slope = fma(all(-1.0f) * v, v, one);
          if (!s.eager) {
            g = rounded<kLast>(g * slope);
          } else {
            g = rounded_calm<kInner>(rounded<kInner>(g) * cap);
            g = rounded_calm<kInner>(g * slope);
            g = rounded_calm<kLast>(divided_by_cap<kInner>(g, s));
          }
        }
        store_lanes(t + i, g, lanes);
      });
    };
    if (calm) {
      run([&](Floats v) { return quotient(calm_exp(v), l, inverse); });
    } else {
      run([&](Floats v) { return vec_exp(v) / l; });
    }
  });
}

}  // namespace nb::kernels::inner::NB_LEVEL
