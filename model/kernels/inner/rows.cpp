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
    each_groups<kSideBySide>(n, [&](std::int64_t i, auto count, int lanes) NB_BODY {
      constexpr int kCount = decltype(count)::value;
      Floats v[kCount];
      each_of<kCount>([&](int c) NB_BODY { v[c] = load_lanes(x + i + 16 * c, lanes) * r; });
      round_any<decltype(mode)::value>(v);
      each_of<kCount>([&](int c) NB_BODY { store_lanes(out + i + 16 * c, v[c], lanes); });
    });
  });
}

void rms_norm_backward(const float* dy, const float* x, std::int64_t n, float rstd,
                       float coefficient, float* dx, int rounding) {
  const Floats r = all(rstd), minus = all(-coefficient);
  with_rounding(rounding, [&](auto mode) {
    each_groups<kSideBySide>(n, [&](std::int64_t i, auto count, int lanes) NB_BODY {
      constexpr int kCount = decltype(count)::value;
      Floats g[kCount];
      each_of<kCount>([&](int c) NB_BODY {
        g[c] =
            fma(minus, load_lanes(x + i + 16 * c, lanes), r * load_lanes(dy + i + 16 * c, lanes));
      });
      round_any<decltype(mode)::value>(g);
      each_of<kCount>([&](int c) NB_BODY { store_lanes(dx + i + 16 * c, g[c], lanes); });
    });
  });
}

void rotary(const float* x, const float* cos, const float* sin, std::int64_t half, float sin_sign,
            float* out, int rounding, bool eager) {
  const Floats sign = all(sin_sign), minus = all(-sin_sign);
  const auto rotate = [&](auto inner, auto outer) {
    constexpr int kInner = decltype(inner)::value, kOuter = decltype(outer)::value;
    each_group(half, [&](std::int64_t i, int lanes) NB_BODY {
      const Floats x1 = load_lanes(x + i, lanes), x2 = load_lanes(x + half + i, lanes);
      const Floats c = load_lanes(cos + i, lanes), s = load_lanes(sin + i, lanes);
      Floats y[4] = {x1 * c, x2 * (sign * s), x1 * (minus * s), x2 * c};
      round_any<kInner>(y);
      Floats sums[2] = {y[0] + y[1], y[2] + y[3]};
      round_any<kOuter>(sums);
      store_lanes(out + i, sums[0], lanes);
      store_lanes(out + half + i, sums[1], lanes);
    });
  };
  with_rounding(rounding, [&](auto mode) {
    if (eager) {
      rotate(mode, mode);
    } else {
      rotate(Constant<kRoundNone>(), mode);
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

std::int64_t first_largest(const float* x, std::int64_t n) {
  constexpr int kChains = 4;
  Floats best[kChains];
  for (Floats& lanes : best) lanes = floats(all_bits(0xff800000u));
  std::int64_t i = 0;
  for (; i + 16 * kChains <= n; i += 16 * kChains) {
    for (int c = 0; c < kChains; ++c) best[c] = larger(load(x + i + 16 * c), best[c]);
  }
  each_group(n - i, [&](std::int64_t j, int lanes) {
    best[0] = keep_lanes(larger(load_lanes(x + i + j, lanes), best[0]), best[0], lanes);
  });
  for (int c = 1; c < kChains; ++c) best[0] = larger(best[c], best[0]);
  const float largest = tree_max(best[0]);
  const Floats bound = all(largest), zero = all(0.0f), one = all(1.0f);
  for (i = 0; i + 16 <= n; i += 16) {
    if (!all_of(zero < select(bound <= load(x + i), zero, one))) break;
  }
  for (; i < n; ++i) {
    if (x[i] == largest) return i;
  }
  return 0;
}

}  // namespace nb::kernels::inner::NB_LEVEL
