#include "model/kernels/gated.hpp"

#include <span>

#include "harness/base/check.hpp"
#include "model/kernels/inner/dispatch.hpp"
#include "model/kernels/row_loop.hpp"

namespace nb::kernels {
namespace {

// Columns at once, so that what exp works on stays in the first cache.
constexpr std::int64_t kColumns = 1024;

void silu_row(const inner::Table& table, const float* x, std::int64_t size, float* out,
              DType storage) {
  float power[kColumns];
  for (std::int64_t first = 0; first < size; first += kColumns) {
    const std::int64_t count = std::min(kColumns, size - first);
    for (std::int64_t i = 0; i < count; ++i) power[i] = -x[first + i];
    table.exp(power, count, power);
    for (std::int64_t i = 0; i < count; ++i) out[first + i] = x[first + i] / (1.0f + power[i]);
  }
  round_to(storage, std::span(out, static_cast<std::size_t>(size)));
}

}  // namespace

void silu(ConstMatrix x, Matrix out, DType storage) {
  NB_CHECK(same_shape(x, out), "[silu] x is ({},{}), out ({},{})", x.rows, x.cols, out.rows,
           out.cols);
  const inner::Table& table = inner::table();
  each_row(x.rows, x.cols,
           [&](std::int64_t i) { silu_row(table, x.row(i), x.cols, out.row(i), storage); });
}

void multiply(ConstMatrix a, ConstMatrix b, Matrix out, DType storage) {
  NB_CHECK(same_shape(a, out) && a.cols == b.cols && (b.rows == a.rows || b.rows == 1),
           "[multiply] a is ({},{}), b ({},{}), out ({},{})", a.rows, a.cols, b.rows, b.cols,
           out.rows, out.cols);
  each_row(a.rows, a.cols, [&](std::int64_t i) {
    const float* left = a.row(i);
    const float* right = b.row(b.rows == 1 ? 0 : i);
    float* to = out.row(i);
    for (std::int64_t j = 0; j < a.cols; ++j) to[j] = left[j] * right[j];
    round_to(storage, std::span(to, static_cast<std::size_t>(a.cols)));
  });
}

}  // namespace nb::kernels
