// RMS norm of one level, row by row: whole matrices are then read as few long streams, which a
// processor fetches ahead.
#include "model/kernels/inner/functions.hpp"
#include "model/kernels/inner/vec_math.hpp"

namespace nb::kernels::inner::NB_LEVEL {
namespace {

// 1 / sqrt(mean + epsilon), as a scalar computes it.
NB_OP float inverse_root(float sum, std::int64_t n, float epsilon) {
  float lanes[16];
  store(lanes, all(1.0f) / sqrt(all(sum) / all(static_cast<float>(n)) + all(epsilon)));
  return lanes[0];
}

}  // namespace

void rms_norm_rows(const NormRows& p) {
  with_rounding(p.rounding, [&](auto mode) {
    constexpr int kRounding = decltype(mode)::value;
    for (std::int64_t r = 0; r < p.rows; ++r) {
      const float* x = p.x + r * p.x_stride;
      float squares = 0.0f;
      if (p.add != nullptr) {
        const float* add = p.add + r * p.add_stride;
        float* sum = p.sum + r * p.sum_stride;
        Floats acc = all(0.0f);
        each_groups<kSideBySide>(p.n, [&](std::int64_t i, auto count, int lanes) NB_BODY {
          constexpr int kCount = decltype(count)::value;
          Floats v[kCount];
          each_of<kCount>([&](int c) NB_BODY {
            v[c] = load_lanes(x + i + 16 * c, lanes) + load_lanes(add + i + 16 * c, lanes);
          });
          round_any<kRounding>(v);
          each_of<kCount>([&](int c) NB_BODY {
            store_lanes(sum + i + 16 * c, v[c], lanes);
            acc = keep_lanes(fma(v[c], v[c], acc), acc, lanes);
          });
        });
        squares = tree_sum(acc);
        x = sum;
      } else {
        squares = lane_sum(p.n, [&](Floats acc, std::int64_t i, int lanes) NB_BODY {
          const Floats v = load_lanes(x + i, lanes);
          return fma(v, v, acc);
        });
      }
      const float rstd = inverse_root(squares, p.n, p.epsilon);
      if (p.rstd != nullptr) p.rstd[r] = rstd;
      float* out = p.out + r * p.out_stride;
      each_groups<kSideBySide>(p.n, [&](std::int64_t i, auto count, int lanes) NB_BODY {
        constexpr int kCount = decltype(count)::value;
        Floats v[kCount];
        each_of<kCount>([&](int c)
                            NB_BODY { v[c] = load_lanes(x + i + 16 * c, lanes) * all(rstd); });
        round_any<kRounding>(v);
        each_of<kCount>([&](int c) NB_BODY { store_lanes(out + i + 16 * c, v[c], lanes); });
      });
    }
  });
}

void rms_norm_backward_rows(const NormBackwardRows& p) {
  constexpr std::int64_t kAhead = 512;  // three streams are more than are fetched ahead in time
  with_rounding(p.rounding, [&](auto mode) {
    constexpr int kRounding = decltype(mode)::value;
    for (std::int64_t r = 0; r < p.rows; ++r) {
      const float *dy = p.dy + r * p.dy_stride, *x = p.x + r * p.x_stride;
      float* dx = p.dx + r * p.dx_stride;
      const float dot = lane_sum(p.n, [&](Floats acc, std::int64_t i, int lanes) NB_BODY {
        __builtin_prefetch(dy + i + kAhead);
        __builtin_prefetch(x + i + kAhead);
        __builtin_prefetch(dx + i + kAhead, 1);
        return fma(load_lanes(dy + i, lanes), load_lanes(x + i, lanes), acc);
      });
      const float rstd = p.rstd[r];
      const float coefficient = ((dot * rstd) * rstd) * rstd / static_cast<float>(p.n);
      const Floats scale = all(rstd), minus = all(-coefficient);
      each_groups<kSideBySide>(p.n, [&](std::int64_t i, auto count, int lanes) NB_BODY {
        constexpr int kCount = decltype(count)::value;
        Floats g[kCount];
        each_of<kCount>([&](int c) NB_BODY {
          g[c] = fma(minus, load_lanes(x + i + 16 * c, lanes),
                     scale * load_lanes(dy + i + 16 * c, lanes));
        });
        round_any<kRounding>(g);
        if (p.accumulates) {
          each_of<kCount>([&](int c) NB_BODY { g[c] = load_lanes(dx + i + 16 * c, lanes) + g[c]; });
          round_any<kRounding>(g);
        }
        each_of<kCount>([&](int c) NB_BODY { store_lanes(dx + i + 16 * c, g[c], lanes); });
      });
    }
  });
}

}  // namespace nb::kernels::inner::NB_LEVEL
