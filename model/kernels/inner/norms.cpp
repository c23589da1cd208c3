// RMS norm of one level, a few rows at a time: their sums are chains that do not wait for each
// other.
#include "model/kernels/inner/functions.hpp"
#include "model/kernels/inner/vec_math.hpp"

namespace nb::kernels::inner::NB_LEVEL {
namespace {

constexpr int kRowsAtOnce = 4;

// body(first row, constant number of rows) over all rows.
template <class Body>
NB_OP void each_rows(std::int64_t rows, const Body& body) {
  std::int64_t i = 0;
  for (; i + kRowsAtOnce <= rows; i += kRowsAtOnce) body(i, Constant<kRowsAtOnce>());
  for (; i < rows; ++i) body(i, Constant<1>());
}

// Σ in 16 virtual lanes of each row: acc = term(acc, row, i, lanes).
template <int kRows, class Term>
NB_OP void row_sums(std::int64_t n, float* sums, const Term& term) {
  Floats acc[kRows];
  for (int r = 0; r < kRows; ++r) acc[r] = all(0.0f);
  each_group(n, [&](std::int64_t i, int lanes) NB_BODY {
#pragma GCC unroll 4
    for (int r = 0; r < kRows; ++r) {
      acc[r] = keep_lanes(term(acc[r], r, i, lanes), acc[r], lanes);
    }
  });
  for (int r = 0; r < kRows; ++r) sums[r] = tree_sum(acc[r]);
}

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
    each_rows(p.rows, [&](std::int64_t first, auto count) {
      constexpr int kRows = decltype(count)::value;
      const float* x = p.x + first * p.x_stride;
      std::int64_t stride = p.x_stride;
      float sums[kRows];
      if (p.add != nullptr) {
        const float* add = p.add + first * p.add_stride;
        float* sum = p.sum + first * p.sum_stride;
        row_sums<kRows>(p.n, sums, [&](Floats acc, int r, std::int64_t i, int lanes) NB_BODY {
          const Floats v = rounded<kRounding>(load_lanes(x + r * p.x_stride + i, lanes) +
                                              load_lanes(add + r * p.add_stride + i, lanes));
          store_lanes(sum + r * p.sum_stride + i, v, lanes);
          return fma(v, v, acc);
        });
        x = sum;
        stride = p.sum_stride;
      } else {
        row_sums<kRows>(p.n, sums, [&](Floats acc, int r, std::int64_t i, int lanes) NB_BODY {
          const Floats v = load_lanes(x + r * stride + i, lanes);
          return fma(v, v, acc);
        });
      }
      for (int r = 0; r < kRows; ++r) {
        const float rstd = inverse_root(sums[r], p.n, p.epsilon);
        if (p.rstd != nullptr) p.rstd[first + r] = rstd;
        const float* row = x + r * stride;
        float* out = p.out + (first + r) * p.out_stride;
        each_group(p.n, [&](std::int64_t i, int lanes) NB_BODY {
          store_lanes(out + i, rounded<kRounding>(load_lanes(row + i, lanes) * all(rstd)), lanes);
        });
      }
    });
  });
}

void rms_norm_backward_rows(const NormBackwardRows& p) {
  with_rounding(p.rounding, [&](auto mode) {
    constexpr int kRounding = decltype(mode)::value;
    each_rows(p.rows, [&](std::int64_t first, auto count) {
      constexpr int kRows = decltype(count)::value;
      const float* dy = p.dy + first * p.dy_stride;
      const float* x = p.x + first * p.x_stride;
      float dots[kRows];
      row_sums<kRows>(p.n, dots, [&](Floats acc, int r, std::int64_t i, int lanes) NB_BODY {
        return fma(load_lanes(dy + r * p.dy_stride + i, lanes),
                   load_lanes(x + r * p.x_stride + i, lanes), acc);
      });
      for (int r = 0; r < kRows; ++r) {
        const float rstd = p.rstd[first + r];
        const float coefficient = ((dots[r] * rstd) * rstd) * rstd / static_cast<float>(p.n);
        const float* dy_row = dy + r * p.dy_stride;
        const float* x_row = x + r * p.x_stride;
        float* dx = p.dx + (first + r) * p.dx_stride;
        const Floats scale = all(rstd), minus = all(-coefficient);
        each_group(p.n, [&](std::int64_t i, int lanes) NB_BODY {
          const Floats g = rounded<kRounding>(
              fma(minus, load_lanes(x_row + i, lanes), scale * load_lanes(dy_row + i, lanes)));
          store_lanes(dx + i, p.accumulates ? rounded<kRounding>(load_lanes(dx + i, lanes) + g) : g,
                      lanes);
        });
      }
    });
  });
}

}  // namespace nb::kernels::inner::NB_LEVEL
