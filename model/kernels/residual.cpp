#include "model/kernels/residual.hpp"

#include "harness/base/check.hpp"
#include "model/kernels/inner/dispatch.hpp"
#include "model/kernels/row_loop.hpp"

namespace nb::kernels {

void add(ConstMatrix a, ConstMatrix b, Matrix out, DType storage) {
  NB_CHECK(same_shape(a, b) && same_shape(a, out), "[add] a is ({},{}), b ({},{}), out ({},{})",
           a.rows, a.cols, b.rows, b.cols, out.rows, out.cols);
  const inner::Table& table = inner::table();
  const int rounding = inner::rounding_of(storage);
  each_row(a.rows, a.cols,
           [&](std::int64_t i) { table.add(a.row(i), b.row(i), a.cols, out.row(i), rounding); });
}

void add_block(ConstMatrix a, const ProductBlock& block, Matrix out, DType storage) {
  const inner::Table& table = inner::table();
  const int rounding = inner::rounding_of(storage);
  for (std::int64_t i = 0; i < block.rows; ++i) {
    table.add(a.row(block.row + i) + block.col, block.values.row(i), block.cols,
              out.row(block.row + i) + block.col, rounding);
  }
}

}  // namespace nb::kernels
