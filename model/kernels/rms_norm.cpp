#include "model/kernels/rms_norm.hpp"

#include <algorithm>

#include "harness/base/check.hpp"
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

void run(ConstMatrix x, const ConstMatrix* add, const Matrix* sum, Matrix out,
         std::span<float> rstd, DType storage, float epsilon) {
  const inner::Table& table = inner::table();
  const int rounding = inner::rounding_of(storage);
  each_rows(x.rows, x.cols, [&](std::int64_t first, std::int64_t count) {
    table.rms_norm_rows({.x = x.row(first),
                         .add = add == nullptr ? nullptr : add->row(first),
                         .sum = add == nullptr ? nullptr : sum->row(first),
                         .out = out.row(first),
                         .rstd = rstd.empty() ? nullptr : rstd.data() + first,
                         .x_stride = x.stride,
                         .add_stride = add == nullptr ? 0 : add->stride,
                         .sum_stride = add == nullptr ? 0 : sum->stride,
                         .out_stride = out.stride,
                         .rows = count,
                         .n = x.cols,
                         .epsilon = epsilon,
                         .rounding = rounding});
  });
}

void run_backward(ConstMatrix dy, ConstMatrix x, std::span<const float> rstd, Matrix dx,
                  bool accumulates, DType storage) {
  NB_CHECK(same_shape(dy, x) && same_shape(x, dx),
           "[rms_norm_backward] dy is ({},{}), x ({},{}), dx ({},{})", dy.rows, dy.cols, x.rows,
           x.cols, dx.rows, dx.cols);
  check_rstd("rms_norm_backward", rstd.size(), x.rows);
  const inner::Table& table = inner::table();
  const int rounding = inner::rounding_of(storage);
  each_rows(x.rows, x.cols, [&](std::int64_t first, std::int64_t count) {
    table.rms_norm_backward_rows({.dy = dy.row(first),
                                  .x = x.row(first),
                                  .rstd = rstd.data() + first,
                                  .dx = dx.row(first),
                                  .dy_stride = dy.stride,
                                  .x_stride = x.stride,
                                  .dx_stride = dx.stride,
                                  .rows = count,
                                  .n = x.cols,
                                  .accumulates = accumulates,
                                  .rounding = rounding});
  });
}

}  // namespace

void rms_norm(ConstMatrix x, Matrix out, std::span<float> rstd, DType storage, float epsilon) {
  NB_CHECK(same_shape(x, out), "[rms_norm] x is ({},{}), out ({},{})", x.rows, x.cols, out.rows,
           out.cols);
  if (!rstd.empty()) check_rstd("rms_norm", rstd.size(), x.rows);
  run(x, nullptr, nullptr, out, rstd, storage, epsilon);
}

void add_rms_norm(ConstMatrix a, ConstMatrix b, Matrix sum, Matrix out, std::span<float> rstd,
                  DType storage, float epsilon) {
  NB_CHECK(same_shape(a, b) && same_shape(a, sum) && same_shape(a, out),
           "[add_rms_norm] a is ({},{}), b ({},{}), sum ({},{}), out ({},{})", a.rows, a.cols,
           b.rows, b.cols, sum.rows, sum.cols, out.rows, out.cols);
  if (!rstd.empty()) check_rstd("add_rms_norm", rstd.size(), a.rows);
  run(a, &b, &sum, out, rstd, storage, epsilon);
}

void rms_norm_backward(ConstMatrix dy, ConstMatrix x, std::span<const float> rstd, Matrix dx,
                       DType storage) {
  run_backward(dy, x, rstd, dx, false, storage);
}

void rms_norm_backward_add(ConstMatrix dy, ConstMatrix x, std::span<const float> rstd, Matrix dx,
                           DType storage) {
  run_backward(dy, x, rstd, dx, true, storage);
}

}  // namespace nb::kernels
