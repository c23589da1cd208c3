#include "model/kernels/slices.hpp"

#include <algorithm>

#include "harness/base/check.hpp"
#include "model/kernels/row_loop.hpp"

namespace nb::kernels {
namespace {

// Row t of a sequence from row t + step; +0 where there is none.
void shift(const char* op, ConstMatrix x, std::int64_t time, std::int64_t step, Matrix out) {
  NB_CHECK(same_shape(x, out) && time > 0 && x.rows % time == 0,
           "[{}] x is ({},{}), out ({},{}), sequences of {}", op, x.rows, x.cols, out.rows,
           out.cols, time);
  each_row(x.rows, x.cols, [&](std::int64_t i) {
    const std::int64_t t = i % time + step;
    if (t < 0 || t >= time)
      std::fill_n(out.row(i), x.cols, 0.0f);
    else
      std::copy_n(x.row(i + step), x.cols, out.row(i));
  });
}

}  // namespace

void first_columns(ConstMatrix x, Matrix out) {
  NB_CHECK(x.rows == out.rows && out.cols <= x.cols, "[first_columns] x is ({},{}), out ({},{})",
           x.rows, x.cols, out.rows, out.cols);
  each_row(out.rows, out.cols,
           [&](std::int64_t i) { std::copy_n(x.row(i), out.cols, out.row(i)); });
}

void first_columns_backward(ConstMatrix dy, Matrix dx) {
  NB_CHECK(dy.rows == dx.rows && dy.cols <= dx.cols,
           "[first_columns_backward] dy is ({},{}), dx ({},{})", dy.rows, dy.cols, dx.rows,
           dx.cols);
  each_row(dx.rows, dx.cols, [&](std::int64_t i) {
    std::copy_n(dy.row(i), dy.cols, dx.row(i));
    std::fill_n(dx.row(i) + dy.cols, dx.cols - dy.cols, 0.0f);
  });
}

void previous_rows(ConstMatrix x, std::int64_t time, Matrix out) {
  shift("previous_rows", x, time, -1, out);
}

void previous_rows_backward(ConstMatrix dy, std::int64_t time, Matrix dx) {
  shift("previous_rows_backward", dy, time, 1, dx);
}

}  // namespace nb::kernels
