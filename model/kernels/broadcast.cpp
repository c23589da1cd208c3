#include "model/kernels/broadcast.hpp"

#include <algorithm>

#include "harness/base/check.hpp"
#include "model/kernels/column_sums.hpp"
#include "model/kernels/inner/dispatch.hpp"
#include "model/kernels/row_loop.hpp"
#include "model/kernels/scratch.hpp"

namespace nb::kernels {
namespace {

void check_pair(const char* op, ConstMatrix dy, ConstMatrix x) {
  NB_CHECK(same_shape(dy, x), "[{}] dy is ({},{}), x ({},{})", op, dy.rows, dy.cols, x.rows,
           x.cols);
}

// Of what a kernel of the eager lowering hands to the next one.
int eager_rounding(const PointwisePolicy& policy) {
  return policy.eager ? inner::rounding_of(policy.storage, policy.fp16_saturates)
                      : inner::kRoundNone;
}

// Σ of dy * x, as the header says; `products` and `ones` hold `size` numbers, eager mode alone.
float dot_of(const inner::Table& table, const float* dy, const float* x, std::int64_t size,
             int rounding, float* products, const float* ones) {
  if (products == nullptr) return table.dot(dy, x, size);
  for (std::int64_t j = 0; j < size; ++j) products[j] = dy[j] * x[j];
  table.cast(products, size, products, rounding);
  return table.dot(products, ones, size);  // fma(p, 1, sum) is the sum
}

}  // namespace

void multiply(ConstMatrix a, ConstMatrix b, Matrix out, DType storage) {
  NB_CHECK(same_shape(a, out) && a.cols == b.cols && (b.rows == a.rows || b.rows == 1),
           "[multiply] a is ({},{}), b ({},{}), out ({},{})", a.rows, a.cols, b.rows, b.cols,
           out.rows, out.cols);
  const inner::Table& table = inner::table();
  const int rounding = inner::rounding_of(storage);
  each_row(a.rows, a.cols, [&](std::int64_t i) {
    const float* left = a.row(i);
    const float* right = b.row(b.rows == 1 ? 0 : i);
    float* to = out.row(i);
    for (std::int64_t j = 0; j < a.cols; ++j) to[j] = left[j] * right[j];
    table.cast(to, a.cols, to, rounding);
  });
}

void add_bias(ConstMatrix x, ConstMatrix bias, Matrix out, DType storage) {
  NB_CHECK(same_shape(x, out) && bias.rows == 1 && bias.cols == x.cols,
           "[add_bias] x is ({},{}), bias ({},{}), out ({},{})", x.rows, x.cols, bias.rows,
           bias.cols, out.rows, out.cols);
  const inner::Table& table = inner::table();
  const int rounding = inner::rounding_of(storage);
  each_row(x.rows, x.cols,
           [&](std::int64_t i) { table.add(x.row(i), bias.row(0), x.cols, out.row(i), rounding); });
}

void scale(ConstMatrix x, float factor, Matrix out, DType storage) {
  NB_CHECK(same_shape(x, out), "[scale] x is ({},{}), out ({},{})", x.rows, x.cols, out.rows,
           out.cols);
  const inner::Table& table = inner::table();
  const int rounding = inner::rounding_of(storage);
  each_row(x.rows, x.cols,
           [&](std::int64_t i) { table.scale(x.row(i), x.cols, factor, out.row(i), rounding); });
}

void gain_gradient(ConstMatrix dy, ConstMatrix x, const ParameterGradient& dgain,
                   const PointwisePolicy& policy) {
  check_pair("gain_gradient", dy, x);
  const inner::Table& table = inner::table();
  const int rounding = eager_rounding(policy);
  sum_columns(table, dy.rows, dy.cols, dgain, rounding,
              [&](std::int64_t i, std::int64_t first, std::int64_t count, float* sum) {
                const float *d = dy.row(i) + first, *v = x.row(i) + first;
                float products[kColumnsAtOnce];
                for (std::int64_t j = 0; j < count; ++j) products[j] = d[j] * v[j];
                table.cast(products, count, products, rounding);
                for (std::int64_t j = 0; j < count; ++j) sum[j] = sum[j] + products[j];
              });
}

void bias_gradient(ConstMatrix dy, const ParameterGradient& dbias, const PointwisePolicy& policy) {
  sum_columns(inner::table(), dy.rows, dy.cols, dbias, eager_rounding(policy),
              [&](std::int64_t i, std::int64_t first, std::int64_t count, float* sum) {
                const float* d = dy.row(i) + first;
                for (std::int64_t j = 0; j < count; ++j) sum[j] = sum[j] + d[j];
              });
}

void factor_gradient(ConstMatrix dy, ConstMatrix x, const ParameterGradient& dfactor,
                     const PointwisePolicy& policy) {
  check_pair("factor_gradient", dy, x);
  NB_CHECK(dfactor.values.size() == 1, "[factor_gradient] {} factors", dfactor.values.size());
  const inner::Table& table = inner::table();
  const int rounding = eager_rounding(policy);
  const auto bytes = [](std::int64_t count) {
    return static_cast<std::size_t>(count) * sizeof(float);
  };
  const Scratch of_rows(bytes(dy.rows)), ones(bytes(dy.cols));
  std::fill_n(ones.floats(), dy.cols, 1.0f);
  each_row(dy.rows, dy.cols, [&](std::int64_t i) {
    const Scratch products(bytes(policy.eager ? dy.cols : 0));
    of_rows.floats()[i] = dot_of(table, dy.row(i), x.row(i), dy.cols, rounding,
                                 policy.eager ? products.floats() : nullptr, ones.floats());
  });
  double total = 0;
  for (std::int64_t i = 0; i < dy.rows; ++i) total += static_cast<double>(of_rows.floats()[i]);
  auto sum = static_cast<float>(total);
  add_to_gradient(table, &sum, 0, 1, dfactor, rounding);
}

void gate_heads(ConstMatrix x, ConstMatrix gate, Matrix out, DType storage) {
  NB_CHECK(same_shape(x, out) && gate.rows == x.rows && gate.cols > 0 && x.cols % gate.cols == 0,
           "[gate_heads] x is ({},{}), gate ({},{}), out ({},{})", x.rows, x.cols, gate.rows,
           gate.cols, out.rows, out.cols);
  const inner::Table& table = inner::table();
  const int rounding = inner::rounding_of(storage);
  const std::int64_t head_dim = x.cols / gate.cols;
  each_row(x.rows, x.cols, [&](std::int64_t i) {
    for (std::int64_t h = 0; h < gate.cols; ++h)
      table.scale(x.row(i) + h * head_dim, head_dim, gate.row(i)[h], out.row(i) + h * head_dim,
                  rounding);
  });
}

void gate_heads_gradient(ConstMatrix dy, ConstMatrix x, Matrix dgate,
                         const PointwisePolicy& policy) {
  check_pair("gate_heads_gradient", dy, x);
  NB_CHECK(dgate.rows == x.rows && dgate.cols > 0 && x.cols % dgate.cols == 0,
           "[gate_heads_gradient] x is ({},{}), dgate ({},{})", x.rows, x.cols, dgate.rows,
           dgate.cols);
  const inner::Table& table = inner::table();
  const int rounding = inner::rounding_of(policy.storage, policy.fp16_saturates);
  const std::int64_t head_dim = x.cols / dgate.cols;
  const std::size_t bytes = static_cast<std::size_t>(head_dim) * sizeof(float);
  const Scratch ones(bytes);
  std::fill_n(ones.floats(), head_dim, 1.0f);
  each_row(x.rows, x.cols, [&](std::int64_t i) {
    const Scratch products(bytes);
    float* to = dgate.row(i);
    for (std::int64_t h = 0; h < dgate.cols; ++h)
      to[h] = dot_of(table, dy.row(i) + h * head_dim, x.row(i) + h * head_dim, head_dim, rounding,
                     policy.eager ? products.floats() : nullptr, ones.floats());
    table.cast(to, dgate.cols, to, rounding);
  });
}

}  // namespace nb::kernels
