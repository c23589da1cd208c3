// One row at a time: norms, rotary embedding, softmax of one level.
#include "model/kernels/inner/functions.hpp"
#include "model/kernels/inner/vec_math.hpp"

namespace nb::kernels::inner::NB_LEVEL {
namespace {

NB_OP Floats larger(Floats x, Floats best) { return select(best < x, x, best); }

}  // namespace

float sum_of_squares(const float* x, std::int64_t n) {
  return lane_sum(n, [&](Floats acc, std::int64_t i, int lanes) NB_BODY {
    const Floats v = load_lanes(x + i, lanes);
    return fma(v, v, acc);
  });
}

float dot(const float* x, const float* y, std::int64_t n) {
  return lane_sum(n, [&](Floats acc, std::int64_t i, int lanes) NB_BODY {
    return fma(load_lanes(x + i, lanes), load_lanes(y + i, lanes), acc);
  });
}

bool all_below(const float* x, std::int64_t n, float limit) {
  const Floats top = all(limit);
  bool result = true;
  each_group(n, [&](std::int64_t i, int lanes) NB_BODY {
    result = result && all_of(magnitude(load_lanes(x + i, lanes)) < top);
  });
  return result;
}

void rms_norm(const float* x, std::int64_t n, float rstd, float* out, int rounding) {
  const Floats r = all(rstd);
  with_rounding(rounding, [&](auto mode) {
    each_group(n, [&](std::int64_t i, int lanes) NB_BODY {
      store_lanes(out + i, rounded<decltype(mode)::value>(load_lanes(x + i, lanes) * r), lanes);
    });
  });
}

void rms_norm_backward(const float* dy, const float* x, std::int64_t n, float rstd,
                       float coefficient, float* dx, int rounding) {
  const Floats r = all(rstd), minus = all(-coefficient);
  with_rounding(rounding, [&](auto mode) {
    each_group(n, [&](std::int64_t i, int lanes) NB_BODY {
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
    each_group(half, [&](std::int64_t i, int lanes) NB_BODY {
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
  each_group(n, [&](std::int64_t i, int lanes) NB_BODY {
    const Floats z = (load_lanes(s + i, lanes) + all(0.0f)) * f;
    store_lanes(s + i, z, lanes);
    best = keep_lanes(larger(z, best), best, lanes);
  });
  *max = tree_max(best);
  const Floats m = all(*max);
  *sum = lane_sum(n, [&](Floats acc, std::int64_t i, int lanes) NB_BODY {
    const Floats p = vec_exp(load_lanes(s + i, lanes) - m);
    store_lanes(s + i, p, lanes);
    return acc + p;
  });
}

void probabilities(float* s, std::int64_t n, float factor, float max, float sum) {
  const Floats f = all(factor), m = all(max), l = all(sum);
  each_group(n, [&](std::int64_t i, int lanes) NB_BODY {
    const Floats z = (load_lanes(s + i, lanes) + all(0.0f)) * f;
    store_lanes(s + i, vec_exp(z - m) / l, lanes);
  });
}

void score_gradient(const float* p, float* dp, std::int64_t n, float delta) {
  const Floats d = all(delta);
  each_group(n, [&](std::int64_t i, int lanes) NB_BODY {
    store_lanes(dp + i, load_lanes(p + i, lanes) * (load_lanes(dp + i, lanes) + all(0.0f) - d),
                lanes);
  });
}

}  // namespace nb::kernels::inner::NB_LEVEL
