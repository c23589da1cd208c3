#include "model/kernels/rms_norm.hpp"

#include <cmath>

#include "harness/base/check.hpp"
#include "model/kernels/inner/dispatch.hpp"
#include "model/kernels/row_loop.hpp"

namespace nb::kernels {

void rms_norm(ConstMatrix x, Matrix out, std::span<float> rstd, DType storage, float epsilon) {
  NB_CHECK(same_shape(x, out), "[rms_norm] x is ({},{}), out ({},{})", x.rows, x.cols, out.rows,
           out.cols);
  NB_CHECK(rstd.empty() || rstd.size() == static_cast<std::size_t>(x.rows),
           "[rms_norm] rstd has {} elements for {} rows", rstd.size(), x.rows);
  const inner::Table& table = inner::table();
  const int rounding = inner::rounding_of(storage);
  const auto width = static_cast<float>(x.cols);
  each_row(x.rows, x.cols, [&](std::int64_t i) {
    const float mean = table.sum_of_squares(x.row(i), x.cols) / width;
    const float r = 1.0f / std::sqrt(mean + epsilon);
    if (!rstd.empty()) rstd[static_cast<std::size_t>(i)] = r;
    table.rms_norm(x.row(i), x.cols, r, out.row(i), rounding);
  });
}

void rms_norm_backward(ConstMatrix dy, ConstMatrix x, std::span<const float> rstd, Matrix dx,
                       DType storage) {
  NB_CHECK(same_shape(dy, x) && same_shape(x, dx),
           "[rms_norm_backward] dy is ({},{}), x ({},{}), dx ({},{})", dy.rows, dy.cols, x.rows,
           x.cols, dx.rows, dx.cols);
  NB_CHECK(rstd.size() == static_cast<std::size_t>(x.rows),
           "[rms_norm_backward] rstd has {} elements for {} rows", rstd.size(), x.rows);
  const inner::Table& table = inner::table();
  const int rounding = inner::rounding_of(storage);
  const auto width = static_cast<float>(x.cols);
  each_row(x.rows, x.cols, [&](std::int64_t i) {
    const float r = rstd[static_cast<std::size_t>(i)];
    const float dot = table.dot(dy.row(i), x.row(i), x.cols);
    const float coefficient = ((dot * r) * r) * r / width;
    table.rms_norm_backward(dy.row(i), x.row(i), x.cols, r, coefficient, dx.row(i), rounding);
  });
}

}  // namespace nb::kernels
