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

void relu_squared_block(ConstMatrix x, Matrix out, const ProductBlock& block, DType storage) {
  const inner::Table& table = inner::table();
  const int rounding = inner::rounding_of(storage);
  for (std::int64_t i = block.row; i < block.row + block.rows; ++i) {
    table.relu_squared(x.row(i) + block.col, block.cols, out.row(i) + block.col, rounding);
  }
}

void relu_squared_backward_block(ConstMatrix dy, ConstMatrix x, Matrix dx,
                                 const ProductBlock& block, DType storage) {
  const inner::Table& table = inner::table();
  const int rounding = inner::rounding_of(storage);
  for (std::int64_t i = block.row; i < block.row + block.rows; ++i) {
    table.relu_squared_backward(dy.row(i) + block.col, x.row(i) + block.col, block.cols,
                                dx.row(i) + block.col, rounding);
  }
}

void relu_squared_block(const ProductBlock& block, Bf16Matrix x, Bf16Matrix out) {
  const inner::Table& table = inner::table();
  for (std::int64_t i = 0; i < block.rows; ++i) {
    table.relu_squared_to_bf16(block.values.row(i), block.cols,
                               x.data == nullptr ? nullptr : x.row(block.row + i) + block.col,
                               out.row(block.row + i) + block.col);
  }
}

void relu_squared_backward_block(const ProductBlock& dy, ConstAnyMatrix x, Bf16Matrix dx) {
  const inner::Table& table = inner::table();
  for (std::int64_t i = 0; i < dy.rows; ++i) {
    table.relu_squared_backward_of_bf16(dy.values.row(i),
                                        static_cast<const std::uint16_t*>(x.at(dy.row + i, dy.col)),
                                        dy.cols, dx.row(dy.row + i) + dy.col);
  }
}

}  // namespace nb::kernels
