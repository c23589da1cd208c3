#include "model/kernels/rms_norm.hpp"

#include <algorithm>

#include "harness/base/check.hpp"
#include "model/kernels/both_forms.hpp"
#include "model/kernels/inner/dispatch.hpp"
#include "model/kernels/row_loop.hpp"

namespace nb::kernels {
namespace {

void check_rstd(const char* op, std::size_t size, std::int64_t rows) {
  NB_CHECK(size == static_cast<std::size_t>(rows), "[{}] rstd has {} elements for {} rows", op,
           size, rows);
}

// body(first row, count): pieces of rows.
template <class Body>
void each_rows(std::int64_t rows, std::int64_t cols, const Body& body) {
  const std::int64_t some =
      rows_at_once(rows, kRowElementsAtOnce / std::max<std::int64_t>(1, cols));
  const std::int64_t chunk = std::max<std::int64_t>(4, some / 4 * 4);
  parallel_chunks(static_cast<std::size_t>(rows), static_cast<std::size_t>(chunk),
                  [&](std::size_t begin, std::size_t end) {
                    check_float_mode();
                    body(static_cast<std::int64_t>(begin), static_cast<std::int64_t>(end - begin));
                  });
}

inner::ConstAnyRows rows_from(const ConstAnyMatrix& m, std::int64_t row) {
  if (m.bf16 != nullptr) return {nullptr, m.bf16 + row * m.stride, m.stride};
  return {m.fp32 + row * m.stride, nullptr, m.stride};
}
inner::AnyRows rows_from(const AnyMatrix& m, std::int64_t row) {
  if (m.bf16 != nullptr) return {nullptr, m.bf16 + row * m.stride, m.stride};
  return {m.fp32 + row * m.stride, nullptr, m.stride};
}

void run_backward(ConstAnyMatrix dy, ConstAnyMatrix x, std::span<const float> rstd, AnyMatrix dx,
                  bool accumulates, DType storage) {
  NB_CHECK(same_shape(dy, x) && same_shape(x, dx),
           "[rms_norm_backward] dy is ({},{}), x ({},{}), dx ({},{})", dy.rows, dy.cols, x.rows,
           x.cols, dx.rows, dx.cols);
  check_rstd("rms_norm_backward", rstd.size(), x.rows);
  check_forms("rms_norm_backward", {dy, x, dx}, storage);
  const inner::Table& table = inner::table();
  const int rounding = inner::rounding_of(storage);
  each_rows(x.rows, x.cols, [&](std::int64_t first, std::int64_t count) {
    table.rms_norm_backward_rows({.dy = rows_from(dy, first),
                                  .x = rows_from(x, first),
                                  .rstd = rstd.data() + first,
                                  .dx = rows_from(dx, first),
                                  .rows = count,
                                  .n = x.cols,
                                  .accumulates = accumulates,
                                  .rounding = rounding});
  });
}

}  // namespace

void rms_norm(ConstAnyMatrix x, AnyMatrix out, std::span<float> rstd, DType storage, float epsilon,
              Rsqrt rsqrt) {
  NB_CHECK(same_shape(x, out), "[rms_norm] x is ({},{}), out ({},{})", x.rows, x.cols, out.rows,
           out.cols);
  if (!rstd.empty()) check_rstd("rms_norm", rstd.size(), x.rows);
  check_forms("rms_norm", {x, out}, storage);
  const inner::Table& table = inner::table();
  const int rounding = inner::rounding_of(storage);
  each_rows(x.rows, x.cols, [&](std::int64_t first, std::int64_t count) {
    table.rms_norm_rows({.x = rows_from(x, first),
                         .out = rows_from(out, first),
                         .rstd = rstd.empty() ? nullptr : rstd.data() + first,
                         .rows = count,
                         .n = x.cols,
                         .epsilon = epsilon,
                         .rsqrt = rsqrt,
                         .rounding = rounding});
  });
}

void rms_norm_backward(ConstAnyMatrix dy, ConstAnyMatrix x, std::span<const float> rstd,
                       AnyMatrix dx, DType storage) {
  run_backward(dy, x, rstd, dx, false, storage);
}

void rms_norm_backward_add(ConstAnyMatrix dy, ConstAnyMatrix x, std::span<const float> rstd,
                           AnyMatrix dx, DType storage) {
  run_backward(dy, x, rstd, dx, true, storage);
}

}  // namespace nb::kernels
