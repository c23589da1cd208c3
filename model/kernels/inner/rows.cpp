// One row at a time: norms, rotary embedding, softmax, cross-entropy of one level.
#include "model/kernels/inner/functions.hpp"
#include "model/kernels/inner/vec_math.hpp"

namespace nb::kernels::inner::NB_LEVEL {
namespace {

NB_OP Floats larger(Floats x, Floats best) { return select(best < x, x, best); }

// Calls body(eager rounding, last rounding). The two are the same, or there is no eager one, in
// every policy that a device has; any other pair rounds `out` in a pass of its own.
template <class Body>
NB_OP void with_two_roundings(int eager, int last, float* out, std::int64_t n, const Body& body) {
  if (eager == kRoundNone) {
    with_rounding(last, [&](auto mode) { body(Constant<kRoundNone>(), mode); });
  } else if (eager == last) {
    with_rounding(last, [&](auto mode) { body(mode, mode); });
  } else {
    with_rounding(eager, [&](auto mode) { body(mode, Constant<kRoundNone>()); });
    with_rounding(last, [&](auto mode) {
      each_group(n, [&](std::int64_t i, int lanes) {
        store_lanes(out + i, rounded<decltype(mode)::value>(load_lanes(out + i, lanes)), lanes);
      });
    });
  }
}

// Soft-cap of one group; tanh_out receives t.
template <int kEager>
NB_OP Floats capped(Floats x, Floats cap, Floats* tanh_out) {
  const Floats t = rounded<kEager>(vec_tanh(rounded<kEager>(x / cap)));
  *tanh_out = t;
  return rounded<kEager>(t * cap);
}

}  // namespace

float sum_of_squares(const float* x, std::int64_t n) {
  return lane_sum(n, [&](Floats acc, std::int64_t i, int lanes) {
    const Floats v = load_lanes(x + i, lanes);
    return fma(v, v, acc);
  });
}

float dot(const float* x, const float* y, std::int64_t n) {
  return lane_sum(n, [&](Floats acc, std::int64_t i, int lanes) {
    return fma(load_lanes(x + i, lanes), load_lanes(y + i, lanes), acc);
  });
}

bool all_below(const float* x, std::int64_t n, float limit) {
  const Floats top = all(limit);
  bool result = true;
  each_group(n, [&](std::int64_t i, int lanes) {
    result = result && all_of(magnitude(load_lanes(x + i, lanes)) < top);
  });
  return result;
}

void rms_norm(const float* x, std::int64_t n, float rstd, float* out, int rounding) {
  const Floats r = all(rstd);
  with_rounding(rounding, [&](auto mode) {
    each_group(n, [&](std::int64_t i, int lanes) {
      store_lanes(out + i, rounded<decltype(mode)::value>(load_lanes(x + i, lanes) * r), lanes);
    });
  });
}

void rms_norm_backward(const float* dy, const float* x, std::int64_t n, float rstd,
                       float coefficient, float* dx, int rounding) {
  const Floats r = all(rstd), minus = all(-coefficient);
  with_rounding(rounding, [&](auto mode) {
    each_group(n, [&](std::int64_t i, int lanes) {
      const Floats g = r * load_lanes(dy + i, lanes);
      store_lanes(dx + i, rounded<decltype(mode)::value>(fma(minus, load_lanes(x + i, lanes), g)),
                  lanes);
    });
  });
}

void rotary(const float* x, const float* cos, const float* sin, std::int64_t half, float sin_sign,
            float* out, int rounding, bool eager) {
  const Floats sign = all(sin_sign), minus = all(-sin_sign);
  const auto turn = [&](auto inner, auto outer) {
    constexpr int kInner = decltype(inner)::value, kOuter = decltype(outer)::value;
    each_group(half, [&](std::int64_t i, int lanes) {
      const Floats x1 = load_lanes(x + i, lanes), x2 = load_lanes(x + half + i, lanes);
      const Floats c = load_lanes(cos + i, lanes), s = load_lanes(sin + i, lanes);
      const Floats y1 = rounded<kInner>(x1 * c) + rounded<kInner>(x2 * (sign * s));
      const Floats y2 = rounded<kInner>(x1 * (minus * s)) + rounded<kInner>(x2 * c);
      store_lanes(out + i, rounded<kOuter>(y1), lanes);
      store_lanes(out + half + i, rounded<kOuter>(y2), lanes);
    });
  };
  with_rounding(rounding, [&](auto mode) {
    if (eager) {
      turn(mode, mode);
    } else {
      turn(Constant<kRoundNone>(), mode);
    }
  });
}

void softmax(float* s, std::int64_t n, float factor, float* max, float* sum) {
  const Floats f = all(factor);
  Floats best = floats(all_bits(0xff800000u));
  each_group(n, [&](std::int64_t i, int lanes) {
    const Floats z = (load_lanes(s + i, lanes) + all(0.0f)) * f;
    store_lanes(s + i, z, lanes);
    best = keep_lanes(larger(z, best), best, lanes);
  });
  *max = tree_max(best);
  const Floats m = all(*max);
  *sum = lane_sum(n, [&](Floats acc, std::int64_t i, int lanes) {
    const Floats p = vec_exp(load_lanes(s + i, lanes) - m);
    store_lanes(s + i, p, lanes);
    return acc + p;
  });
}

void probabilities(float* s, std::int64_t n, float factor, float max, float sum) {
  const Floats f = all(factor), m = all(max), l = all(sum);
  each_group(n, [&](std::int64_t i, int lanes) {
    const Floats z = (load_lanes(s + i, lanes) + all(0.0f)) * f;
    store_lanes(s + i, vec_exp(z - m) / l, lanes);
  });
}

void score_gradient(const float* p, float* dp, std::int64_t n, float delta) {
  const Floats d = all(delta);
  each_group(n, [&](std::int64_t i, int lanes) {
    store_lanes(dp + i, load_lanes(p + i, lanes) * (load_lanes(dp + i, lanes) + all(0.0f) - d),
                lanes);
  });
}

void softcap(const float* x, std::int64_t n, const SoftcapScalars& s, float* out, int rounding) {
  const Floats cap = all(s.cap);
  with_two_roundings(s.rounding, rounding, out, n, [&](auto eager, auto mode) {
    each_group(n, [&](std::int64_t i, int lanes) {
      Floats z = load_lanes(x + i, lanes), t;
      if (s.cap != 0.0f) z = capped<decltype(eager)::value>(z, cap, &t);
      store_lanes(out + i, rounded<decltype(mode)::value>(z), lanes);
    });
  });
}

void max_and_sum(const float* z, std::int64_t n, float* max, float* sum) {
  Floats best = floats(all_bits(0xff800000u));
  each_group(n, [&](std::int64_t i, int lanes) {
    best = keep_lanes(larger(load_lanes(z + i, lanes), best), best, lanes);
  });
  *max = tree_max(best);
  const Floats m = all(*max);
  *sum = lane_sum(n, [&](Floats acc, std::int64_t i, int lanes) {
    return acc + vec_exp(load_lanes(z + i, lanes) - m);
  });
}

void cross_entropy_backward(const float* x, std::int64_t n, std::int64_t target, float max,
                            float sum, float factor, const SoftcapScalars& s, float* dx,
                            int rounding) {
  const Floats m = all(max), l = all(sum), f = all(factor), cap = all(s.cap), one = all(1.0f);
  with_two_roundings(s.rounding, rounding, dx, n, [&](auto eager, auto mode) {
    constexpr int kEager = decltype(eager)::value, kLast = decltype(mode)::value;
    each_group(n, [&](std::int64_t i, int lanes) {
      Floats z = load_lanes(x + i, lanes), t = all(0.0f);
      if (s.cap != 0.0f) z = capped<kEager>(z, cap, &t);
      Floats g = vec_exp(z - m) / l;
      if (target >= i && target < i + lanes) {
        float hot[16] = {};
        hot[target - i] = 1.0f;
        g = g - load(hot);
      }
      g = g * f;
      if (s.cap == 0.0f) {
        g = rounded<kLast>(g);
      } else if (!s.eager) {
        g = rounded<kLast>(g * fma(all(-1.0f) * t, t, one));
      } else {
        g = rounded<kEager>(rounded<kEager>(g) * cap);
        g = rounded<kEager>(g * fma(all(-1.0f) * t, t, one));
        g = rounded<kLast>(g / cap);
      }
      store_lanes(dx + i, g, lanes);
    });
  });
}

}  // namespace nb::kernels::inner::NB_LEVEL
