// Logits on their way through soft-cap and cross-entropy, one row (or a strip of it) at a time: the
// arithmetic of cross_entropy.hpp split where a row's maximum and sum are needed, with t =
// tanh(x / cap) kept between the passes. Divisions, exponentials and roundings take short forms
// where they give the same bits; a row for which they might not is not "ordinary".
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
    if constexpr (decltype(storage)::value == kRoundNone) {
      body(storage, storage, storage);
    } else if (s.rounds_steps) {
      body(storage, storage, storage);
    } else if (s.rounds_capped) {
      body(Constant<kRoundNone>(), storage, storage);
    } else {
      body(Constant<kRoundNone>(), Constant<kRoundNone>(), storage);
    }
  });
}

NB_OP Floats larger(Floats x, Floats best) { return select(best < x, x, best); }

// u of x.
template <int kRounding>
NB_OP Floats over_cap(Floats x, const CapScalars& s) {
  // A bf16 number over the cap, rounded to bf16, is never nearer to a tie than the product with the
  // rounded inverse is to the quotient (checked for all 65536 by a test).
  return kRounding == kRoundBf16 && s.multiplies ? x * all(s.inverse) : x / all(s.cap);
}

// t of kCount groups of x, where all |u| lie in [2^-50, 0.6245): nearly always. False: they do not.
template <int kRounding, int kCount>
NB_OP bool small_t(Floats (&x)[kCount], const CapScalars& s) {
  Floats square[kCount];
  each_of<kCount>([&](int c) NB_BODY { x[c] = over_cap<kRounding>(x[c], s); });
  round_normal<kRounding>(x);
  Bits outside = all_bits(0);  // has a sign
  each_of<kCount>([&](int c) NB_BODY { square[c] = x[c] * x[c]; });
  each_of<kCount>([&](int c) NB_BODY {
    outside =
        outside | (bits(square[c]) - bits(all(0x1p-100f))) | (bits(all(0.39f)) - bits(square[c]));
  });
  if (!all_of(all(0.0f) <= to_float(outside))) return false;
  each_of<kCount>([&](int c) NB_BODY { x[c] = small_tanh(x[c], square[c]); });
  round_normal<kRounding>(x);
  return true;
}

// t of any x; *ordinary becomes false where a NaN or a denormal u is met.
template <int kRounding>
NB_OP Floats any_t(Floats x, const CapScalars& s, bool* ordinary) {
  const Floats u = rounded<kRounding>(over_cap<kRounding>(x, s)), size = magnitude(u);
  *ordinary = *ordinary && all_of(all(0x1p-126f) <= select(size <= all(0.0f), all(1.0f), size));
  return rounded_ordinary<kRounding>(vec_tanh(u));
}

template <int kRounding, bool kOrdinary, int kCount>
NB_OP void round_all(Floats (&x)[kCount]) {
  if constexpr (kOrdinary) {
    round_normal<kRounding>(x);
  } else {
    each_of<kCount>([&](int c) NB_BODY { x[c] = rounded<kRounding>(x[c]); });
  }
}

// z of t. kOrdinary: all of them are zero or normal numbers, and there is a cap.
template <int kCapped, bool kOrdinary, int kCount>
NB_OP void capped_of(const Floats (&t)[kCount], const CapScalars& s, Floats (&z)[kCount]) {
  if (kOrdinary || s.cap != 0.0f) {
    each_of<kCount>([&](int c) NB_BODY { z[c] = t[c] * all(s.cap); });
    round_all<kCapped, kOrdinary>(z);
  } else {
    each_of<kCount>([&](int c) NB_BODY { z[c] = s.rounds_capped ? rounded<kCapped>(t[c]) : t[c]; });
  }
}
template <int kCapped>
NB_OP Floats capped_of(Floats t, const CapScalars& s) {
  Floats z[1];
  capped_of<kCapped, false>({t}, s, z);
  return z[0];
}

// t and z of kCount groups from x on.
template <int kInner, int kOuter, int kCount>
NB_OP void cap_groups(const float* x, int lanes, const CapScalars& s, bool* ordinary,
                      Floats (&t)[kCount], Floats (&z)[kCount]) {
  const auto load_all = [&]() NB_BODY {
    each_of<kCount>([&](int c) NB_BODY { t[c] = load_lanes(x + 16 * c, lanes); });
  };
  load_all();
  if (s.cap != 0.0f) {
    if (s.cap >= 0x1p-60f && small_t<kInner>(t, s)) return capped_of<kOuter, true>(t, s, z);
    load_all();
    for (Floats& v : t) v = any_t<kInner>(v, s, ordinary);
  }
  capped_of<kOuter, false>(t, s, z);
}

}  // namespace

void softcap(const float* x, std::int64_t n, const CapScalars& scalars, float* out) {
  const CapScalars s = scalars;  // a copy: out cannot point into it
  bool ordinary = true;
  with_roundings(s, [&](auto inner, auto outer, auto) {
    constexpr int kInner = decltype(inner)::value, kOuter = decltype(outer)::value;
    each_groups<kSideBySide>(n, [&](std::int64_t i, auto count, int lanes) NB_BODY {
      constexpr int kCount = decltype(count)::value;
      Floats t[kCount], z[kCount];
      cap_groups<kInner, kOuter>(x + i, lanes, s, &ordinary, t, z);
      each_of<kCount>([&](int c) NB_BODY { store_lanes(out + i + 16 * c, z[c], lanes); });
    });
  });
}

void cap_logits(float* x, std::int64_t n, const CapScalars& scalars, CapRow* row) {
  const CapScalars s = scalars;  // a copy: x cannot point into it
  Floats best = load(row->best);
  bool ordinary = row->is_ordinary;
  with_roundings(s, [&](auto inner, auto outer, auto) {
    constexpr int kInner = decltype(inner)::value, kOuter = decltype(outer)::value;
    each_groups<kSideBySide>(n, [&](std::int64_t i, auto count, int lanes) NB_BODY {
      constexpr int kCount = decltype(count)::value;
      Floats t[kCount], z[kCount];
      cap_groups<kInner, kOuter>(x + i, lanes, s, &ordinary, t, z);
      each_of<kCount>([&](int c) NB_BODY { store_lanes(x + i + 16 * c, t[c], lanes); });
      each_of<kCount>([&](int c) NB_BODY { best = keep_lanes(larger(z[c], best), best, lanes); });
    });
  });
  store(row->best, best);
  row->is_ordinary = ordinary;
}

float largest_capped(const CapRow& row) { return tree_max(load(row.best)); }

namespace {

// exp(z - max) of t.
template <int kCapped, bool kOrdinary, int kCount>
NB_OP void exponentials(const Floats (&t)[kCount], const CapScalars& s, Floats max,
                        Floats (&e)[kCount]) {
  capped_of<kCapped, kOrdinary>(t, s, e);
  each_of<kCount>([&](int c) NB_BODY { e[c] = e[c] - max; });
  each_of<kCount>([&](int c) NB_BODY { e[c] = kOrdinary ? ordinary_exp(e[c]) : vec_exp(e[c]); });
}

}  // namespace

float capped_sum(const float* t, std::int64_t n, const CapScalars& s, float max, bool ordinary) {
  const Floats m = all(max);
  Floats sum = all(0.0f);
  with_roundings(s, [&](auto, auto outer, auto) {
    const auto add = [&](auto is_ordinary) NB_BODY {
      constexpr bool kOrdinary = decltype(is_ordinary)::value != 0;
      each_groups<kSideBySide>(n, [&](std::int64_t i, auto count, int lanes) NB_BODY {
        constexpr int kCount = decltype(count)::value;
        Floats e[kCount];
        each_of<kCount>([&](int c) NB_BODY { e[c] = load_lanes(t + i + 16 * c, lanes); });
        exponentials<decltype(outer)::value, kOrdinary>(e, s, m, e);
        each_of<kCount>([&](int c) NB_BODY { sum = keep_lanes(sum + e[c], sum, lanes); });
      });
    };
    if (ordinary) {
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
template <int kInner, int kOuter, int kLast, bool kOrdinary>
void gradients(float* t, std::int64_t n, const float* hot, const GradientScalars& p,
               const CapScalars s) {  // a copy: t cannot point into it
  const Floats m = all(p.max), l = all(p.sum), f = all(p.factor), cap = all(s.cap), one = all(1.0f),
               inverse = one / l;
  each_groups<kOrdinary ? kSideBySide : 1>(n, [&](std::int64_t i, auto count, int lanes) NB_BODY {
    constexpr int kCount = decltype(count)::value;
    Floats v[kCount], g[kCount];
    each_of<kCount>([&](int c) NB_BODY { v[c] = load_lanes(t + i + 16 * c, lanes); });
    exponentials<kOuter, kOrdinary>(v, s, m, g);
    each_of<kCount>([&](int c)
                        NB_BODY { g[c] = kOrdinary ? quotient(g[c], l, inverse) : g[c] / l; });
    if (hot != nullptr) g[0] = g[0] - load(hot);
    each_of<kCount>([&](int c) NB_BODY { g[c] = g[c] * f; });
    if (kOrdinary || s.cap != 0.0f) {
      each_of<kCount>([&](int c) NB_BODY { v[c] = fma(all(-1.0f) * v[c], v[c], one); });
      if (s.eager) {
        round_all<kInner, kOrdinary>(g);
        each_of<kCount>([&](int c) NB_BODY { g[c] = g[c] * cap; });
        round_all<kInner, kOrdinary>(g);
      }
      each_of<kCount>([&](int c) NB_BODY { g[c] = g[c] * v[c]; });
      if (s.eager) {
        round_all<kInner, kOrdinary>(g);
        each_of<kCount>([&](int c) NB_BODY { g[c] = over_cap<kInner>(g[c], s); });
      }
    }
    round_all<kLast, kOrdinary>(g);
    each_of<kCount>([&](int c) NB_BODY { store_lanes(t + i + 16 * c, g[c], lanes); });
  });
}

}  // namespace

void capped_gradient(float* t, std::int64_t n, std::int64_t target, const GradientScalars& p,
                     const CapScalars& s, bool ordinary) {
  const bool has_target = target >= 0 && target < n;
  const std::int64_t first = has_target ? target / 16 * 16 : 0;
  const int lanes = has_target ? lanes_left(n, first) : 0;
  const Floats kept = load_first(t + first, lanes);
  float hot[16] = {};
  hot[has_target ? target - first : 0] = 1.0f;
  with_roundings(s, [&](auto inner, auto outer, auto last) {
    constexpr int kInner = decltype(inner)::value, kOuter = decltype(outer)::value;
    constexpr int kLast = decltype(last)::value;
    const auto run = [&](auto is_ordinary) {
      constexpr bool kOrdinary = decltype(is_ordinary)::value != 0;
      gradients<kInner, kOuter, kLast, kOrdinary>(t, n, nullptr, p, s);
      if (!has_target) return;
      store_first(t + first, kept, lanes);
      gradients<kInner, kOuter, kLast, kOrdinary>(t + first, lanes, hot, p, s);
    };
    if (ordinary) {
      run(Constant<1>());
    } else {
      run(Constant<0>());
    }
  });
}

}  // namespace nb::kernels::inner::NB_LEVEL
