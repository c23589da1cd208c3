#include "model/kernels/rotary_norm.hpp"

#include "harness/base/check.hpp"
#include "model/kernels/both_forms.hpp"
#include "model/kernels/inner/dispatch.hpp"
#include "model/kernels/inverse_root.hpp"
#include "model/kernels/row_loop.hpp"
#include "model/kernels/scratch.hpp"

namespace nb::kernels {
namespace {

struct Heads {
  std::int64_t head_dim;
  ConstMatrix cos, sin;
  int rotary_rounding, norm_rounding;
  bool eager;
  DType storage;
  Rsqrt rsqrt;
};

Heads heads_of(std::int64_t head_dim, ConstMatrix cos, ConstMatrix sin,
               const PointwisePolicy& policy) {
  return {head_dim,
          cos,
          sin,
          inner::rounding_of(policy),
          inner::rounding_of(policy.storage),
          policy.eager,
          policy.storage,
          policy.rsqrt};
}

void check(const char* op, const ConstAnyMatrix& x, const ConstAnyMatrix& out, std::size_t rstd,
           const Heads& heads) {
  NB_CHECK(heads.head_dim > 0 && heads.head_dim % 2 == 0 && x.cols % heads.head_dim == 0 &&
               same_shape(x, out),
           "[{}] x is ({},{}), out ({},{}), heads of {}", op, x.rows, x.cols, out.rows, out.cols,
           heads.head_dim);
  NB_CHECK(rstd == 0 || static_cast<std::int64_t>(rstd) == x.rows * (x.cols / heads.head_dim),
           "[{}] rstd has {} elements for {} rows of {} heads", op, rstd, x.rows,
           x.cols / heads.head_dim);
  NB_CHECK(heads.cos.cols == heads.head_dim / 2 && same_shape(heads.cos, heads.sin),
           "[{}] tables are ({},{}) and ({},{}), {} columns needed", op, heads.cos.rows,
           heads.cos.cols, heads.sin.rows, heads.sin.cols, heads.head_dim / 2);
}

void check_time(const char* op, const ConstAnyMatrix& x, const RotaryShape& shape,
                ConstMatrix cos) {
  NB_CHECK(shape.layout != RotaryLayout::kPairs, "[{}] rotates halves, not pairs", op);
  NB_CHECK(x.cols == shape.heads * shape.head_dim && shape.first_position >= 0 &&
               (x.rows == 0 || (shape.time > 0 && x.rows % shape.time == 0)) &&
               shape.first_position + shape.time <= cos.rows,
           "[{}] x is ({},{}), heads·D {}, sequences of {} from position {}, tables of {}", op,
           x.rows, x.cols, shape.heads * shape.head_dim, shape.time, shape.first_position,
           cos.rows);
}

bool is_there(const AnyMatrix& m) { return m.fp32 != nullptr || m.bf16 != nullptr; }

template <class Position>
void rotate_and_norm(const ConstAnyMatrix& x, const AnyMatrix& rotated, const AnyMatrix& out,
                     std::span<float> rstd, const Heads& heads, const Position& position_of) {
  check("rotary_norm", x, out, rstd.size(), heads);
  check_forms("rotary_norm", {x, rotated, out}, heads.storage);
  NB_CHECK(!is_there(rotated) || same_shape(x, rotated), "[rotary_norm] x ({},{}), rotated ({},{})",
           x.rows, x.cols, rotated.rows, rotated.cols);
  const inner::Table& table = inner::table();
  const std::int64_t dim = heads.head_dim, count = x.cols / dim;
  each_row(x.rows, x.cols, [&](std::int64_t i) {
    const std::int64_t position = position_of(i);
    const AsFp32 from(table, row_block(x, i, 1));
    const ToFp32 to(table, row_block(out, i, 1)),
        kept(table, is_there(rotated) ? row_block(rotated, i, 1) : AnyMatrix());
    const Scratch own(is_there(rotated) ? 0 : static_cast<std::size_t>(dim) * 4);
    for (std::int64_t h = 0; h < count; ++h) {
      float* y = is_there(rotated) ? kept.view().data + h * dim : own.floats();
      table.rotary(from.view().data + h * dim, heads.cos.row(position), heads.sin.row(position),
                   dim / 2, 1.0f, y, heads.rotary_rounding, heads.eager);
      const float mean = table.sum_of_squares(y, dim) / static_cast<float>(dim);
      const float r = inverse_root(mean + kRmsNormEpsilon, heads.rsqrt);
      if (!rstd.empty()) rstd[static_cast<std::size_t>(i * count + h)] = r;
      table.rms_norm(y, dim, r, to.view().data + h * dim, heads.norm_rounding);
    }
    kept.keep();
    to.keep();
  });
}

}  // namespace

void rotary_norm(const ConstAnyMatrix& x, const AnyMatrix& rotated, const AnyMatrix& out,
                 std::span<float> rstd, ConstMatrix cos, ConstMatrix sin, const RotaryShape& shape,
                 const PointwisePolicy& policy) {
  check_time("rotary_norm", x, shape, cos);
  rotate_and_norm(x, rotated, out, rstd, heads_of(shape.head_dim, cos, sin, policy),
                  [&](std::int64_t i) { return shape.first_position + i % shape.time; });
}

void rotary_norm(const ConstAnyMatrix& x, std::span<const std::int64_t> positions,
                 const AnyMatrix& rotated, const AnyMatrix& out, std::span<float> rstd,
                 ConstMatrix cos, ConstMatrix sin, std::int64_t head_dim,
                 const PointwisePolicy& policy) {
  NB_CHECK(static_cast<std::int64_t>(positions.size()) == x.rows,
           "[rotary_norm] {} positions for {} rows", positions.size(), x.rows);
  for (const std::int64_t position : positions) {
    NB_CHECK(position >= 0 && position < cos.rows, "[rotary_norm] position {}, the tables hold {}",
             position, cos.rows);
  }
  rotate_and_norm(x, rotated, out, rstd, heads_of(head_dim, cos, sin, policy),
                  [&](std::int64_t i) { return positions[static_cast<std::size_t>(i)]; });
}

void rotary_norm_backward(const ConstAnyMatrix& dy, const ConstAnyMatrix& rotated,
                          std::span<const float> rstd, const AnyMatrix& dx, ConstMatrix cos,
                          ConstMatrix sin, const RotaryShape& shape,
                          const PointwisePolicy& policy) {
  const Heads heads = heads_of(shape.head_dim, cos, sin, policy);
  check_time("rotary_norm_backward", dy, shape, cos);
  check("rotary_norm_backward", dy, dx, rstd.size(), heads);
  check_forms("rotary_norm_backward", {dy, rotated, dx}, heads.storage);
  NB_CHECK(same_shape(dy, rotated) && (dy.rows == 0 || !rstd.empty()),
           "[rotary_norm_backward] dy ({},{}), rotated ({},{}), {} rstd", dy.rows, dy.cols,
           rotated.rows, rotated.cols, rstd.size());
  const inner::Table& table = inner::table();
  const std::int64_t dim = heads.head_dim, count = dy.cols / dim;
  const auto width = static_cast<float>(dim);
  each_row(dy.rows, dy.cols, [&](std::int64_t i) {
    const std::int64_t position = shape.first_position + i % shape.time;
    const AsFp32 dy_row(table, row_block(dy, i, 1)), rotated_row(table, row_block(rotated, i, 1));
    const ToFp32 dx_row(table, row_block(dx, i, 1));
    for (std::int64_t h = 0; h < count; ++h) {
      const float* gradient = dy_row.view().data + h * dim;
      const float* x = rotated_row.view().data + h * dim;
      float* to = dx_row.view().data + h * dim;
      const float r = rstd[static_cast<std::size_t>(i * count + h)];
      const float coefficient = ((table.dot(gradient, x, dim) * r) * r) * r / width;
      table.rms_norm_backward(gradient, x, dim, r, coefficient, to, heads.norm_rounding);
      table.rotary(to, heads.cos.row(position), heads.sin.row(position), dim / 2, -1.0f, to,
                   heads.rotary_rounding, heads.eager);
    }
    dx_row.keep();
  });
}

}  // namespace nb::kernels
