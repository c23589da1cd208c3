#include "model/kernels/residual.hpp"

#include "harness/base/check.hpp"
#include "model/kernels/both_forms.hpp"
#include "model/kernels/inner/dispatch.hpp"
#include "model/kernels/row_loop.hpp"

namespace nb::kernels {
namespace {

// b: `cols` values of row i, from column j on.
void add_to_row(const inner::Table& table, const ConstAnyMatrix& a, const float* b, std::int64_t i,
                std::int64_t j, std::int64_t cols, const AnyMatrix& out, int rounding) {
  if (a.bf16 != nullptr) {
    table.add_to_bf16(a.bf16 + i * a.stride + j, b, cols, out.bf16 + i * out.stride + j);
  } else {
    table.add(a.fp32 + i * a.stride + j, b, cols, out.fp32 + i * out.stride + j, rounding);
  }
}

void check_alike(const ConstAnyMatrix& a, const AnyMatrix& out, DType storage) {
  NB_CHECK((a.bf16 == nullptr) == (out.bf16 == nullptr),
           "[add] a and the sum are one bf16, one fp32");
  check_forms("add", {a, out}, storage);
}

}  // namespace

void add(ConstAnyMatrix a, ConstMatrix b, AnyMatrix out, DType storage) {
  NB_CHECK(same_shape(a, b) && same_shape(a, out), "[add] a is ({},{}), b ({},{}), out ({},{})",
           a.rows, a.cols, b.rows, b.cols, out.rows, out.cols);
  check_alike(a, out, storage);
  const inner::Table& table = inner::table();
  const int rounding = inner::rounding_of(storage);
  each_row(a.rows, a.cols,
           [&](std::int64_t i) { add_to_row(table, a, b.row(i), i, 0, a.cols, out, rounding); });
}

void add_block(ConstAnyMatrix a, const ProductBlock& block, AnyMatrix out, DType storage) {
  check_alike(a, out, storage);
  const inner::Table& table = inner::table();
  const int rounding = inner::rounding_of(storage);
  for (std::int64_t i = 0; i < block.rows; ++i) {
    add_to_row(table, a, block.values.row(i), block.row + i, block.col, block.cols, out, rounding);
  }
}

void keep_block(const ProductBlock& block, Bf16Matrix out) {
  const inner::Table& table = inner::table();
  for (std::int64_t i = 0; i < block.rows; ++i) {
    table.to_bf16(block.values.row(i), block.cols, out.row(block.row + i) + block.col);
  }
}

}  // namespace nb::kernels
