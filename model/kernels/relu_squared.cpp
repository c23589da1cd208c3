#include "model/kernels/relu_squared.hpp"

#include "harness/base/check.hpp"
#include "model/kernels/inner/dispatch.hpp"
#include "model/kernels/row_loop.hpp"

namespace nb::kernels {

void relu_squared(ConstMatrix x, Matrix out, DType storage) {
  NB_CHECK(same_shape(x, out), "[relu_squared] x is ({},{}), out ({},{})", x.rows, x.cols, out.rows,
           out.cols);
  const inner::Table& table = inner::table();
  const int rounding = inner::rounding_of(storage);
  each_row(x.rows, x.cols,
           [&](std::int64_t i) { table.relu_squared(x.row(i), x.cols, out.row(i), rounding); });
}

void relu_squared_backward(ConstMatrix dy, ConstMatrix x, Matrix dx, DType storage) {
  NB_CHECK(same_shape(dy, x) && same_shape(x, dx),
           "[relu_squared_backward] dy is ({},{}), x ({},{}), dx ({},{})", dy.rows, dy.cols, x.rows,
           x.cols, dx.rows, dx.cols);
  const inner::Table& table = inner::table();
  const int rounding = inner::rounding_of(storage);
  each_row(x.rows, x.cols, [&](std::int64_t i) {
    table.relu_squared_backward(dy.row(i), x.row(i), x.cols, dx.row(i), rounding);
  });
}

}  // namespace nb::kernels
