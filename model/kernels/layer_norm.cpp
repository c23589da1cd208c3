#include "model/kernels/layer_norm.hpp"

#include <algorithm>

#include "harness/base/check.hpp"
#include "model/kernels/column_sums.hpp"
#include "model/kernels/inner/dispatch.hpp"
#include "model/kernels/inverse_root.hpp"
#include "model/kernels/row_loop.hpp"
#include "model/kernels/scratch.hpp"

namespace nb::kernels {
namespace {

void check_sizes(const char* op, std::int64_t cols, std::span<const float> gain, std::int64_t rows,
                 std::span<const float> mean, std::span<const float> rstd) {
  NB_CHECK(std::ssize(gain) == cols, "[{}] {} gains for {} columns", op, gain.size(), cols);
  NB_CHECK(std::ssize(mean) == rows && std::ssize(rstd) == rows, "[{}] {} means, {} rstd, {} rows",
           op, mean.size(), rstd.size(), rows);
}

std::size_t float_bytes(std::int64_t count) {
  return static_cast<std::size_t>(count) * sizeof(float);
}

}  // namespace

void layer_norm(ConstMatrix x, std::span<const float> gain, std::span<const float> bias, Matrix out,
                std::span<float> mean, std::span<float> rstd, DType storage, float epsilon,
                Rsqrt rsqrt) {
  NB_CHECK(same_shape(x, out), "[layer_norm] x is ({},{}), out ({},{})", x.rows, x.cols, out.rows,
           out.cols);
  NB_CHECK(std::ssize(gain) == x.cols && std::ssize(bias) == x.cols,
           "[layer_norm] {} gains and {} biases for {} columns", gain.size(), bias.size(), x.cols);
  for (const std::span<float> kept : {mean, rstd})
    NB_CHECK(kept.empty() || std::ssize(kept) == x.rows, "[layer_norm] {} to keep of {} rows",
             kept.size(), x.rows);
  const inner::Table& table = inner::table();
  const int rounding = inner::rounding_of(storage);
  const auto width = static_cast<float>(x.cols);
  const Scratch ones(float_bytes(x.cols));
  std::fill_n(ones.floats(), x.cols, 1.0f);
  each_row(x.rows, x.cols, [&](std::int64_t i) {
    const Scratch scratch(float_bytes(x.cols));
    float* c = scratch.floats();
    const float* from = x.row(i);
    const float m = table.dot(from, ones.floats(), x.cols) / width;  // fma(x, 1, sum) is the sum
    for (std::int64_t j = 0; j < x.cols; ++j) c[j] = from[j] - m;
    const float r = inverse_root(table.sum_of_squares(c, x.cols) / width + epsilon, rsqrt);
    float* to = out.row(i);
    for (std::int64_t j = 0; j < x.cols; ++j) {
      const auto at = static_cast<std::size_t>(j);
      to[j] = (c[j] * r) * gain[at] + bias[at];
    }
    table.cast(to, x.cols, to, rounding);
    if (!mean.empty()) mean[static_cast<std::size_t>(i)] = m;
    if (!rstd.empty()) rstd[static_cast<std::size_t>(i)] = r;
  });
}

void layer_norm_backward(ConstMatrix dy, ConstMatrix x, std::span<const float> gain,
                         std::span<const float> mean, std::span<const float> rstd, Matrix dx,
                         DType storage) {
  NB_CHECK(same_shape(dy, x) && same_shape(x, dx),
           "[layer_norm_backward] dy is ({},{}), x ({},{}), dx ({},{})", dy.rows, dy.cols, x.rows,
           x.cols, dx.rows, dx.cols);
  check_sizes("layer_norm_backward", x.cols, gain, x.rows, mean, rstd);
  const inner::Table& table = inner::table();
  const int rounding = inner::rounding_of(storage);
  const auto width = static_cast<float>(x.cols);
  const Scratch ones(float_bytes(x.cols));
  std::fill_n(ones.floats(), x.cols, 1.0f);
  each_row(x.rows, x.cols, [&](std::int64_t i) {
    const Scratch of_g(float_bytes(x.cols)), of_n(float_bytes(x.cols));
    float *g = of_g.floats(), *n = of_n.floats();
    const float m = mean[static_cast<std::size_t>(i)], r = rstd[static_cast<std::size_t>(i)];
    const float *d = dy.row(i), *from = x.row(i);
    for (std::int64_t j = 0; j < x.cols; ++j) {
      n[j] = (from[j] - m) * r;
      g[j] = d[j] * gain[static_cast<std::size_t>(j)];
    }
    const float a = table.dot(g, ones.floats(), x.cols) / width;
    const float b = table.dot(g, n, x.cols) / width;
    float* to = dx.row(i);
    for (std::int64_t j = 0; j < x.cols; ++j) to[j] = r * ((g[j] - a) - n[j] * b);
    table.cast(to, x.cols, to, rounding);
  });
}

void layer_norm_weights_gradient(ConstMatrix dy, ConstMatrix x, std::span<const float> mean,
                                 std::span<const float> rstd, const ParameterGradient& dgain,
                                 const ParameterGradient& dbias) {
  NB_CHECK(same_shape(dy, x), "[layer_norm_weights_gradient] dy is ({},{}), x ({},{})", dy.rows,
           dy.cols, x.rows, x.cols);
  NB_CHECK(std::ssize(mean) == x.rows && std::ssize(rstd) == x.rows,
           "[layer_norm_weights_gradient] {} means, {} rstd, {} rows", mean.size(), rstd.size(),
           x.rows);
  const inner::Table& table = inner::table();
  if (!dgain.values.empty()) {
    sum_columns(table, x.rows, x.cols, dgain, inner::kRoundNone,
                [&](std::int64_t i, std::int64_t first, std::int64_t count, float* sum) {
                  const float m = mean[static_cast<std::size_t>(i)],
                              r = rstd[static_cast<std::size_t>(i)];
                  const float *d = dy.row(i) + first, *from = x.row(i) + first;
                  for (std::int64_t j = 0; j < count; ++j)
                    sum[j] = sum[j] + d[j] * ((from[j] - m) * r);
                });
  }
  if (!dbias.values.empty()) {
    sum_columns(table, x.rows, x.cols, dbias, inner::kRoundNone,
                [&](std::int64_t i, std::int64_t first, std::int64_t count, float* sum) {
                  const float* d = dy.row(i) + first;
                  for (std::int64_t j = 0; j < count; ++j) sum[j] = sum[j] + d[j];
                });
  }
}

}  // namespace nb::kernels
