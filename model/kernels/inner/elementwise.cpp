// Whole-array arithmetic of one level.
#include "model/kernels/inner/functions.hpp"
#include "model/kernels/inner/vec_math.hpp"

namespace nb::kernels::inner::NB_LEVEL {
namespace {

template <class Function>
NB_OP void map(const float* x, std::int64_t n, float* out, const Function& function) {
  each_group(n, [&](std::int64_t i, int lanes)
                    NB_BODY { store_lanes(out + i, function(load_lanes(x + i, lanes)), lanes); });
}

template <class Function>
NB_OP void map2(const float* x, const float* y, std::int64_t n, float* out,
                const Function& function) {
  each_group(n, [&](std::int64_t i, int lanes) NB_BODY {
    store_lanes(out + i, function(load_lanes(x + i, lanes), load_lanes(y + i, lanes)), lanes);
  });
}

// The same, then rounded.
template <int kRounding, class Function>
NB_OP void map_rounded(const float* x, std::int64_t n, float* out, const Function& function) {
  each_groups<kSideBySide>(n, [&](std::int64_t i, auto count, int lanes) NB_BODY {
    constexpr int kCount = decltype(count)::value;
    Floats v[kCount];
    each_of<kCount>([&](int c) NB_BODY { v[c] = function(load_lanes(x + i + 16 * c, lanes)); });
    round_any<kRounding>(v);
    each_of<kCount>([&](int c) NB_BODY { store_lanes(out + i + 16 * c, v[c], lanes); });
  });
}

template <int kRounding, class Function>
NB_OP void map2_rounded(const float* x, const float* y, std::int64_t n, float* out,
                        const Function& function) {
  each_groups<kSideBySide>(n, [&](std::int64_t i, auto count, int lanes) NB_BODY {
    constexpr int kCount = decltype(count)::value;
    Floats v[kCount];
    each_of<kCount>([&](int c) NB_BODY {
      v[c] = function(load_lanes(x + i + 16 * c, lanes), load_lanes(y + i + 16 * c, lanes));
    });
    round_any<kRounding>(v);
    each_of<kCount>([&](int c) NB_BODY { store_lanes(out + i + 16 * c, v[c], lanes); });
  });
}

}  // namespace

void finish(const float* sum, std::int64_t n, float* c, int rounding, bool accumulate) {
  with_rounding(rounding, [&](auto r) {
    if (accumulate) {
      map2(sum, c, n, c,
           [](Floats s, Floats old) { return old + rounded<decltype(r)::value>(s + all(0.0f)); });
    } else {
      map_rounded<decltype(r)::value>(sum, n, c, [](Floats s) { return s + all(0.0f); });
    }
  });
}

void fill(float* out, std::int64_t n, float value) {
  const Floats x = all(value);
  each_group(n, [&](std::int64_t i, int lanes) NB_BODY { store_lanes(out + i, x, lanes); });
}

void cast(const float* in, std::int64_t n, float* out, int rounding) {
  with_rounding(rounding, [&](auto r) {
    map_rounded<decltype(r)::value>(in, n, out, [](Floats x) { return x; });
  });
}

void from_bf16(const std::uint16_t* x, std::int64_t n, float* out) {
  each_group(n, [&](std::int64_t i, int lanes)
                    NB_BODY { store_lanes(out + i, load_lanes(x + i, lanes), lanes); });
}

void to_bf16(const float* x, std::int64_t n, std::uint16_t* out) {
  each_groups<kSideBySide>(n, [&](std::int64_t i, auto count, int lanes) NB_BODY {
    Floats v[decltype(count)::value];
    each_of<decltype(count)::value>([&](int c)
                                        NB_BODY { v[c] = load_lanes(x + i + 16 * c, lanes); });
    store_bf16(out + i, v, lanes);
  });
}

void scale(const float* x, std::int64_t n, float factor, float* out, int rounding) {
  const Floats f = all(factor);
  with_rounding(rounding, [&](auto r) {
    map_rounded<decltype(r)::value>(x, n, out, [&](Floats v) { return v * f; });
  });
}

void add(const float* a, const float* b, std::int64_t n, float* out, int rounding) {
  with_rounding(rounding, [&](auto r) {
    map2_rounded<decltype(r)::value>(a, b, n, out, [](Floats x, Floats y) { return x + y; });
  });
}

void add_to_bf16(const std::uint16_t* a, const float* b, std::int64_t n, std::uint16_t* out) {
  each_groups<kSideBySide>(n, [&](std::int64_t i, auto count, int lanes) NB_BODY {
    constexpr int kCount = decltype(count)::value;
    Floats v[kCount];
    each_of<kCount>([&](int c) NB_BODY {
      v[c] = load_lanes(a + i + 16 * c, lanes) + load_lanes(b + i + 16 * c, lanes);
    });
    round_any<kRoundBf16>(v);
    store_bf16(out + i, v, lanes);
  });
}

void relu_squared(const float* x, std::int64_t n, float* out, int rounding) {
  const Floats zero = all(0.0f);
  with_rounding(rounding, [&](auto r) {
    map_rounded<decltype(r)::value>(x, n, out, [&](Floats v) {
      const Floats h = select(v <= zero, zero, v);
      return h * h;
    });
  });
}

void relu_squared_backward(const float* dy, const float* x, std::int64_t n, float* dx,
                           int rounding) {
  const Floats zero = all(0.0f);
  with_rounding(rounding, [&](auto r) {
    map2_rounded<decltype(r)::value>(
        dy, x, n, dx, [&](Floats g, Floats v) { return select(v <= zero, zero, g * (v + v)); });
  });
}

void relu_squared_to_bf16(const float* x, std::int64_t n, std::uint16_t* kept, std::uint16_t* out) {
  const Floats zero = all(0.0f);
  const auto run = [&](auto keeps) {
    each_groups<kSideBySide>(n, [&](std::int64_t i, auto count, int lanes) NB_BODY {
      constexpr int kCount = decltype(count)::value;
      Floats v[kCount];
      each_of<kCount>([&](int c) NB_BODY { v[c] = load_lanes(x + i + 16 * c, lanes); });
      if constexpr (decltype(keeps)::value != 0) store_bf16(kept + i, v, lanes);
      each_of<kCount>([&](int c) NB_BODY {
        const Floats h = select(v[c] <= zero, zero, v[c]);
        v[c] = h * h;
      });
      round_any<kRoundBf16>(v);
      store_bf16(out + i, v, lanes);
    });
  };
  if (kept != nullptr) {
    run(Constant<1>());
  } else {
    run(Constant<0>());
  }
}

void relu_squared_backward_of_bf16(const float* dy, const std::uint16_t* x, std::int64_t n,
                                   std::uint16_t* dx) {
  const Floats zero = all(0.0f);
  each_groups<kSideBySide>(n, [&](std::int64_t i, auto count, int lanes) NB_BODY {
    constexpr int kCount = decltype(count)::value;
    Floats g[kCount];
    each_of<kCount>([&](int c) NB_BODY {
      const Floats v = load_lanes(x + i + 16 * c, lanes);
      g[c] = select(v <= zero, zero, load_lanes(dy + i + 16 * c, lanes) * (v + v));
    });
    round_any<kRoundBf16>(g);
    store_bf16(dx + i, g, lanes);
  });
}

namespace {

// As the kernels of an eager stack, each of which stores its result.
void adamw_eager(float* p, const float* g, float* m, float* v, std::int64_t n,
                 const AdamWScalars& s) {
  const Floats beta1 = all(s.beta1), rest1 = all(s.one_minus_beta1);
  const Floats beta2 = all(s.beta2), rest2 = all(s.one_minus_beta2);
  const Floats epsilon = all(s.epsilon), step = all(s.step_size), decay = all(s.decay),
               bias = all(s.bias2);
  with_roundings(s.round_state, s.round_parameter, [&](auto rs, auto rp) {
    each_group(n, [&](std::int64_t i, int lanes) NB_BODY {
      constexpr int kState = decltype(rs)::value, kParameter = decltype(rp)::value;
      const Floats grad = load_lanes(g + i, lanes);
      Floats value = load_lanes(p + i, lanes);
      if (s.decay != 1.0f) value = rounded<kParameter>(value * decay);
      Floats first = rounded<kState>(beta1 * load_lanes(m + i, lanes));
      first = rounded<kState>(fma(rest1, grad, first));
      Floats second = rounded<kState>(beta2 * load_lanes(v + i, lanes));
      second = rounded<kState>(fma(rest2 * grad, grad, second));
      const Floats under = s.bias2 != 0.0f ? sqrt(rounded<kState>(second / bias)) : sqrt(second);
      const Floats denominator = rounded<kState>(rounded<kState>(under) + epsilon);
      const Floats update = rounded<kState>(step * rounded<kState>(first / denominator));
      store_lanes(m + i, first, lanes);
      store_lanes(v + i, second, lanes);
      store_lanes(p + i, rounded<kParameter>(value - update), lanes);
    });
  });
}

}  // namespace

void adamw(float* p, const float* g, float* m, float* v, std::int64_t n, const AdamWScalars& s) {
  if (s.eager) return adamw_eager(p, g, m, v, n, s);
  const Floats beta1 = all(s.beta1), rest1 = all(s.one_minus_beta1);
  const Floats beta2 = all(s.beta2), rest2 = all(s.one_minus_beta2);
  const Floats epsilon = all(s.epsilon), step = all(s.step_size), decay = all(s.decay),
               bias = all(s.bias2);
  with_roundings(s.round_state, s.round_parameter, [&](auto rs, auto rp) {
    each_group(n, [&](std::int64_t i, int lanes) NB_BODY {
      const Floats grad = load_lanes(g + i, lanes);
      Floats value = load_lanes(p + i, lanes);
      if (s.decay != 1.0f) value = value * decay;
      const Floats first =
          rounded<decltype(rs)::value>(fma(rest1, grad, beta1 * load_lanes(m + i, lanes)));
      const Floats second =
          rounded<decltype(rs)::value>(fma(rest2 * grad, grad, beta2 * load_lanes(v + i, lanes)));
      const Floats root = s.bias2 != 0.0f ? sqrt(second / bias) : sqrt(second);
      value = rounded<decltype(rp)::value>(value - step * (first / (root + epsilon)));
      store_lanes(m + i, first, lanes);
      store_lanes(v + i, second, lanes);
      store_lanes(p + i, value, lanes);
    });
  });
}

void muon_momentum(const float* g, float* buffer, float* update, std::int64_t n, float mu,
                   float one_minus_mu, bool nesterov, int rounding) {
  const Floats m = all(mu), rest = all(one_minus_mu);
  with_rounding(rounding, [&](auto r) {
    each_group(n, [&](std::int64_t i, int lanes) NB_BODY {
      const Floats grad = load_lanes(g + i, lanes);
      const Floats next =
          rounded<decltype(r)::value>(fma(rest, grad, m * load_lanes(buffer + i, lanes)));
      store_lanes(buffer + i, next, lanes);
      store_lanes(update + i, nesterov ? fma(m, next, rest * grad) : next, lanes);
    });
  });
}

void add_scaled(const float* x, std::int64_t n, float factor, float* out) {
  const Floats f = all(factor);
  map2(x, out, n, out, [&](Floats a, Floats b) { return fma(f, a, b); });
}

void divide(const float* x, std::int64_t n, float divisor, float* out, int rounding) {
  const Floats d = all(divisor);
  with_rounding(rounding, [&](auto r) {
    map_rounded<decltype(r)::value>(x, n, out, [&](Floats a) { return a / d; });
  });
}

void scaled_plus(const float* x, const float* y, std::int64_t n, float factor, float* out,
                 int rounding, bool eager) {
  const Floats f = all(factor);
  with_rounding(rounding, [&](auto r) {
    constexpr int kRounding = decltype(r)::value;
    if (!eager) {
      return map2_rounded<kRounding>(x, y, n, out,
                                     [&](Floats a, Floats b) { return fma(f, a, b); });
    }
    each_groups<kSideBySide>(n, [&](std::int64_t i, auto count, int lanes) NB_BODY {
      constexpr int kCount = decltype(count)::value;
      Floats v[kCount];
      each_of<kCount>([&](int c) NB_BODY { v[c] = f * load_lanes(x + i + 16 * c, lanes); });
      round_any<kRounding>(v);
      each_of<kCount>([&](int c) NB_BODY { v[c] = v[c] + load_lanes(y + i + 16 * c, lanes); });
      round_any<kRounding>(v);
      each_of<kCount>([&](int c) NB_BODY { store_lanes(out + i + 16 * c, v[c], lanes); });
    });
  });
}

void exp_all(const float* x, std::int64_t n, float* out) { map(x, n, out, vec_exp); }
void log_all(const float* x, std::int64_t n, float* out) { map(x, n, out, vec_log); }

}  // namespace nb::kernels::inner::NB_LEVEL
