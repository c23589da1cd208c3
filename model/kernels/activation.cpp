#include "model/kernels/activation.hpp"

#include <algorithm>

#include "harness/base/check.hpp"
#include "model/kernels/inner/dispatch.hpp"
#include "model/kernels/row_loop.hpp"

namespace nb::kernels {
namespace {

// Columns at once, so that what exp works on stays in the first cache.
constexpr std::int64_t kColumns = 1024;

constexpr float kGeluScale = 0.797884561f;  // sqrt(2 / pi)
constexpr float kGeluCubic = 0.044715f;

using Function = void (*)(const inner::Table& table, float* values, std::int64_t count);

void exp_of(const inner::Table& table, float* values, std::int64_t count) {
  table.exp(values, count, values);
}
// A soft-cap of 1: x / 1 and t * 1 are exact.
void tanh_of(const inner::Table& table, float* values, std::int64_t count) {
  inner::CapScalars one = {};
  one.cap = one.inverse = 1.0f;
  table.softcap(values, count, one, values);
}

// inside(x) → function → outside(x, function's) → out, which is rounded.
template <class Inside, class Outside>
void map(const char* op, ConstMatrix x, Matrix out, DType storage, Function function,
         const Inside& inside, const Outside& outside) {
  NB_CHECK(same_shape(x, out), "[{}] x is ({},{}), out ({},{})", op, x.rows, x.cols, out.rows,
           out.cols);
  const inner::Table& table = inner::table();
  const int rounding = inner::rounding_of(storage);
  each_row(x.rows, x.cols, [&](std::int64_t row) {
    float f[kColumns];
    for (std::int64_t first = 0; first < x.cols; first += kColumns) {
      const std::int64_t count = std::min(kColumns, x.cols - first);
      const float* from = x.row(row) + first;
      float* to = out.row(row) + first;
      for (std::int64_t i = 0; i < count; ++i) f[i] = inside(from[i]);
      function(table, f, count);
      for (std::int64_t i = 0; i < count; ++i) to[i] = outside(from[i], f[i]);
      table.cast(to, count, to, rounding);
    }
  });
}

// The same of dy and x: slope(dy, x, function's).
template <class Inside, class Gradient>
void map_backward(const char* op, ConstMatrix dy, ConstMatrix x, Matrix dx, DType storage,
                  Function function, const Inside& inside, const Gradient& gradient) {
  NB_CHECK(same_shape(dy, x) && same_shape(x, dx), "[{}] dy is ({},{}), x ({},{}), dx ({},{})", op,
           dy.rows, dy.cols, x.rows, x.cols, dx.rows, dx.cols);
  const inner::Table& table = inner::table();
  const int rounding = inner::rounding_of(storage);
  each_row(x.rows, x.cols, [&](std::int64_t row) {
    float f[kColumns];
    for (std::int64_t first = 0; first < x.cols; first += kColumns) {
      const std::int64_t count = std::min(kColumns, x.cols - first);
      const float* from = x.row(row) + first;
      const float* d = dy.row(row) + first;
      float* to = dx.row(row) + first;
      for (std::int64_t i = 0; i < count; ++i) f[i] = inside(from[i]);
      function(table, f, count);
      for (std::int64_t i = 0; i < count; ++i) to[i] = gradient(d[i], from[i], f[i]);
      table.cast(to, count, to, rounding);
    }
  });
}

float minus(float x) { return -x; }
float gelu_inside(float x) { return kGeluScale * (x + kGeluCubic * ((x * x) * x)); }

}  // namespace

void silu(ConstMatrix x, Matrix out, DType storage) {
  map("silu", x, out, storage, exp_of, minus,
      [](float v, float power) { return v / (1.0f + power); });
}

void silu_backward(ConstMatrix dy, ConstMatrix x, Matrix dx, DType storage) {
  map_backward("silu_backward", dy, x, dx, storage, exp_of, minus,
               [](float d, float v, float power) {
                 const float s = 1.0f / (1.0f + power);
                 return (d * s) * (1.0f + v * (1.0f - s));
               });
}

void sigmoid(ConstMatrix x, Matrix out, DType storage) {
  map("sigmoid", x, out, storage, exp_of, minus,
      [](float, float power) { return 1.0f / (1.0f + power); });
}

void sigmoid_backward(ConstMatrix dy, ConstMatrix y, Matrix dx, DType storage) {
  NB_CHECK(same_shape(dy, y) && same_shape(y, dx),
           "[sigmoid_backward] dy is ({},{}), y ({},{}), dx ({},{})", dy.rows, dy.cols, y.rows,
           y.cols, dx.rows, dx.cols);
  const inner::Table& table = inner::table();
  const int rounding = inner::rounding_of(storage);
  each_row(y.rows, y.cols, [&](std::int64_t row) {
    const float *d = dy.row(row), *v = y.row(row);
    float* to = dx.row(row);
    for (std::int64_t i = 0; i < y.cols; ++i) to[i] = (d[i] * (1.0f - v[i])) * v[i];
    table.cast(to, y.cols, to, rounding);
  });
}

void gelu(ConstMatrix x, Matrix out, DType storage) {
  map("gelu", x, out, storage, tanh_of, gelu_inside,
      [](float v, float t) { return (0.5f * v) * (1.0f + t); });
}

void gelu_backward(ConstMatrix dy, ConstMatrix x, Matrix dx, DType storage) {
  map_backward("gelu_backward", dy, x, dx, storage, tanh_of, gelu_inside,
               [](float d, float v, float t) {
                 const float inside = kGeluScale * (1.0f + (3.0f * kGeluCubic) * (v * v));
                 const float slope = 0.5f * (1.0f + t) + ((0.5f * v) * (1.0f - t * t)) * inside;
                 return d * slope;
               });
}

}  // namespace nb::kernels
