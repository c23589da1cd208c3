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

// t of kCount groups of x; *calm becomes false where a NaN is met.
template <int kRounding, int kCount>
NB_OP void tanh_of_capped(Floats (&x)[kCount], const CapScalars& s, bool* calm) {
  // A bf16 number over the cap, rounded to bf16, is never nearer to a tie than the product with the
  // rounded inverse is to the quotient (checked for all 65536 by a test).
  if (kRounding == kRoundBf16 && s.multiplies) {
    each_of<kCount>([&](int c) NB_BODY { x[c] = x[c] * all(s.inverse); });
  } else {
    each_of<kCount>([&](int c) NB_BODY { x[c] = x[c] / all(s.cap); });
  }
  // Below 0.62, nearly always: nor is u above 0.625, nor is there a NaN.
  bool small = true;
  each_of<kCount>([&](int c) NB_BODY { small &= all_of(magnitude(x[c]) < all(0.62f)); });
  if (small) {
    each_of<kCount>([&](int c) NB_BODY { x[c] = rounded_calm<kRounding>(x[c]); });
    each_of<kCount>([&](int c) NB_BODY {
      const Bits sign = bits(x[c]) & all_bits(0x80000000u);
      x[c] = floats(bits(small_tanh(magnitude(x[c]))) | sign);
    });
    each_of<kCount>([&](int c) NB_BODY { x[c] = rounded_calm<kRounding>(x[c]); });
    return;
  }
  for (Floats& v : x) {
    const Floats u = rounded<kRounding>(v);
    *calm = *calm && all_of(magnitude(u) <= floats(all_bits(0x7f800000u)));
    v = rounded_calm<kRounding>(vec_tanh(u));
  }
}

// z of t. kHasCap: known before.
template <int kCapped, bool kHasCap = false>
NB_OP Floats capped_of(Floats t, const CapScalars& s) {
  if (kHasCap || s.cap != 0.0f) return rounded_calm<kCapped>(t * all(s.cap));
  return s.rounds_capped ? rounded<kCapped>(t) : t;
}

// z of x, which becomes t on the way.
template <int kInner, int kOuter, int kCount>
NB_OP void cap_groups(Floats (&x)[kCount], Floats (&z)[kCount], const CapScalars& s, bool* calm) {
  if (s.cap != 0.0f) {
    tanh_of_capped<kInner>(x, s, calm);
    each_of<kCount>([&](int c) NB_BODY { z[c] = capped_of<kOuter, true>(x[c], s); });
  } else {
    each_of<kCount>([&](int c) NB_BODY { z[c] = capped_of<kOuter>(x[c], s); });
  }
}

}  // namespace

void softcap(const float* x, std::int64_t n, const CapScalars& s, float* out) {
  bool calm = true;
  with_roundings(s, [&](auto inner, auto outer, auto) {
    constexpr int kInner = decltype(inner)::value, kOuter = decltype(outer)::value;
    each_group(n, [&](std::int64_t i, int lanes) {
      Floats t[1] = {load_lanes(x + i, lanes)}, z[1];
      cap_groups<kInner, kOuter>(t, z, s, &calm);
      store_lanes(out + i, z[0], lanes);
    });
  });
}

void cap_logits(float* x, std::int64_t n, const CapScalars& scalars, CapRow* row) {
  const CapScalars s = scalars;  // a copy: x cannot point into it
  Floats best = load(row->best);
  bool calm = row->is_calm;
  with_roundings(s, [&](auto inner, auto outer, auto) {
    constexpr int kInner = decltype(inner)::value, kOuter = decltype(outer)::value;
    each_groups<kSideBySide>(n, [&](std::int64_t i, auto count, int lanes) NB_BODY {
      constexpr int kCount = decltype(count)::value;
      Floats t[kCount], z[kCount];
      each_of<kCount>([&](int c) NB_BODY { t[c] = load_lanes(x + i + 16 * c, lanes); });
      cap_groups<kInner, kOuter>(t, z, s, &calm);
      each_of<kCount>([&](int c) NB_BODY { store_lanes(x + i + 16 * c, t[c], lanes); });
      each_of<kCount>([&](int c) NB_BODY { best = keep_lanes(larger(z[c], best), best, lanes); });
    });
  });
  store(row->best, best);
  row->is_calm = calm;
}

float largest_capped(const CapRow& row) { return tree_max(load(row.best)); }

float capped_sum(const float* t, std::int64_t n, const CapScalars& s, float max, bool calm) {
  const Floats m = all(max);
  Floats sum = all(0.0f);
  with_roundings(s, [&](auto, auto outer, auto) {
    const auto add = [&](auto is_calm) NB_BODY {
      constexpr bool kCalm = decltype(is_calm)::value != 0;
      each_groups<kSideBySide>(n, [&](std::int64_t i, auto count, int lanes) NB_BODY {
        constexpr int kCount = decltype(count)::value;
        Floats e[kCount];
        each_of<kCount>([&](int c) NB_BODY {
          e[c] = capped_of<decltype(outer)::value, kCalm>(load_lanes(t + i + 16 * c, lanes), s) - m;
        });
        each_of<kCount>([&](int c) NB_BODY { e[c] = kCalm ? calm_exp(e[c]) : vec_exp(e[c]); });
        each_of<kCount>([&](int c) NB_BODY { sum = keep_lanes(sum + e[c], sum, lanes); });
      });
    };
    if (calm) {
      add(Constant<1>());
    } else {
      add(Constant<0>());
    }
  });
  return tree_sum(sum);
}

float capped_value(float t, const CapScalars& s) {
  float z[16];
  with_roundings(
      s, [&](auto, auto outer, auto) { store(z, capped_of<decltype(outer)::value>(all(t), s)); });
  return z[0];
}

std::int64_t first_capped(const float* t, std::int64_t n, const CapScalars& s, float max) {
  const Floats m = all(max);
  std::int64_t first = 0;
  with_roundings(s, [&](auto, auto outer, auto) {
    for (std::int64_t i = 0; i < n; i += 16) {
      const int lanes = lanes_left(n, i);
      const Floats z = capped_of<decltype(outer)::value>(load_lanes(t + i, lanes), s);
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

namespace {

// t becomes the gradient; hot: what is taken off the probabilities, null: nothing.
template <int kInner, int kOuter, int kLast, bool kCalm>
void gradients(float* t, std::int64_t n, const float* hot, const GradientScalars& p,
               const CapScalars s) {  // a copy: t cannot point into it
  const Floats m = all(p.max), l = all(p.sum), f = all(p.factor), cap = all(s.cap), one = all(1.0f),
               inverse = one / l;
  each_groups<kCalm ? kSideBySide : 1>(n, [&](std::int64_t i, auto count, int lanes) NB_BODY {
    constexpr int kCount = decltype(count)::value;
    Floats v[kCount], g[kCount];
    each_of<kCount>([&](int c) NB_BODY { v[c] = load_lanes(t + i + 16 * c, lanes); });
    each_of<kCount>([&](int c) NB_BODY { g[c] = capped_of<kOuter, kCalm>(v[c], s) - m; });
    each_of<kCount>([&](int c) NB_BODY { g[c] = kCalm ? calm_exp(g[c]) : vec_exp(g[c]); });
    each_of<kCount>([&](int c) NB_BODY { g[c] = kCalm ? quotient(g[c], l, inverse) : g[c] / l; });
    if (hot != nullptr) g[0] = g[0] - load(hot);
    each_of<kCount>([&](int c) NB_BODY { g[c] = g[c] * f; });
    if (!kCalm && s.cap == 0.0f) {
      each_of<kCount>([&](int c) NB_BODY { g[c] = rounded<kLast>(g[c]); });
    } else {
      each_of<kCount>([&](int c) NB_BODY { v[c] = fma(all(-1.0f) * v[c], v[c], one); });
      if (!s.eager) {
        each_of<kCount>([&](int c) NB_BODY { g[c] = rounded<kLast>(g[c] * v[c]); });
      } else {
        each_of<kCount>([&](int c) NB_BODY {
          g[c] = kCalm ? rounded_calm<kInner>(g[c]) : rounded<kInner>(g[c]);
        });
        each_of<kCount>([&](int c) NB_BODY { g[c] = rounded_calm<kInner>(g[c] * cap); });
        each_of<kCount>([&](int c) NB_BODY { g[c] = rounded_calm<kInner>(g[c] * v[c]); });
        if (kInner == kRoundBf16 && s.multiplies) {
          each_of<kCount>([&](int c)
                              NB_BODY { g[c] = rounded_calm<kLast>(g[c] * all(s.inverse)); });
        } else {
          each_of<kCount>([&](int c) NB_BODY { g[c] = rounded_calm<kLast>(g[c] / cap); });
        }
      }
    }
    each_of<kCount>([&](int c) NB_BODY { store_lanes(t + i + 16 * c, g[c], lanes); });
  });
}

}  // namespace

void capped_gradient(float* t, std::int64_t n, std::int64_t target, const GradientScalars& p,
                     const CapScalars& s, bool calm) {
  const bool has_target = target >= 0 && target < n;
  const std::int64_t first = has_target ? target / 16 * 16 : 0;
  const int lanes = has_target ? lanes_left(n, first) : 0;
  const Floats kept = load_first(t + first, lanes);
  float hot[16] = {};
  hot[has_target ? target - first : 0] = 1.0f;
  with_roundings(s, [&](auto inner, auto outer, auto last) {
    constexpr int kInner = decltype(inner)::value, kOuter = decltype(outer)::value;
    constexpr int kLast = decltype(last)::value;
    const auto run = [&](auto is_calm) {
      constexpr bool kCalm = decltype(is_calm)::value != 0;
      gradients<kInner, kOuter, kLast, kCalm>(t, n, nullptr, p, s);
      if (!has_target) return;
      store_first(t + first, kept, lanes);
      gradients<kInner, kOuter, kLast, kCalm>(t + first, lanes, hot, p, s);
    };
    if (calm) {
      run(Constant<1>());
    } else {
      run(Constant<0>());
    }
  });
}

}  // namespace nb::kernels::inner::NB_LEVEL
