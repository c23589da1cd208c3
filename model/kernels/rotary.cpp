#include "model/kernels/rotary.hpp"

#include "harness/base/check.hpp"
#include "harness/base/portable_math.hpp"
#include "model/kernels/inner/dispatch.hpp"
#include "model/kernels/row_loop.hpp"

namespace nb::kernels {
namespace {

void turn(const char* op, ConstMatrix x, Matrix out, ConstMatrix cos, ConstMatrix sin,
          const RotaryShape& shape, const PointwisePolicy& policy, float sin_sign) {
  const std::int64_t half = shape.head_dim / 2;
  NB_CHECK(shape.head_dim % 2 == 0, "[{}] head_dim {} is odd", op, shape.head_dim);
  NB_CHECK(same_shape(x, out) && x.cols == shape.heads * shape.head_dim,
           "[{}] x is ({},{}), out ({},{}), heads·D {}", op, x.rows, x.cols, out.rows, out.cols,
           shape.heads * shape.head_dim);
  NB_CHECK(x.rows == 0 || (shape.time > 0 && x.rows % shape.time == 0),
           "[{}] {} rows are no multiple of time {}", op, x.rows, shape.time);
  NB_CHECK(cos.cols == half && sin.cols == half && shape.first_position >= 0 &&
               shape.first_position + shape.time <= cos.rows && sin.rows == cos.rows,
           "[{}] tables are ({},{}), positions {} to {} and {} columns needed", op, cos.rows,
           cos.cols, shape.first_position, shape.first_position + shape.time, half);
  const inner::Table& table = inner::table();
  const int rounding = inner::rounding_of(policy);
  each_row(x.rows, x.cols, [&](std::int64_t i) {
    const std::int64_t position = shape.first_position + i % shape.time;
    for (std::int64_t h = 0; h < shape.heads; ++h) {
      const std::int64_t at = h * shape.head_dim;
      table.rotary(x.row(i) + at, cos.row(position), sin.row(position), half, sin_sign,
                   out.row(i) + at, rounding, policy.eager);
    }
  });
}

}  // namespace

void rotary_tables(std::int64_t positions, std::int64_t head_dim, DType table, Matrix cos,
                   Matrix sin, double theta) {
  const std::int64_t half = head_dim / 2;
  NB_CHECK(head_dim % 2 == 0 && cos.rows == positions && cos.cols == half && same_shape(cos, sin),
           "[rotary_tables] cos is ({},{}), sin ({},{}), wanted ({},{})", cos.rows, cos.cols,
           sin.rows, sin.cols, positions, half);
  for (std::int64_t i = 0; i < half; ++i) {
    const double exponent = static_cast<double>(2 * i) / static_cast<double>(head_dim);
    const auto frequency = static_cast<float>(1.0 / pm::pow(theta, exponent));
    for (std::int64_t t = 0; t < positions; ++t) {
      const float angle = static_cast<float>(t) * frequency;
      cos.row(t)[i] = round_to(table, static_cast<float>(pm::cos(angle)));
      sin.row(t)[i] = round_to(table, static_cast<float>(pm::sin(angle)));
    }
  }
}

void rotary(ConstMatrix x, Matrix out, ConstMatrix cos, ConstMatrix sin, const RotaryShape& shape,
            const PointwisePolicy& policy) {
  turn("rotary", x, out, cos, sin, shape, policy, 1.0f);
}

void rotary(ConstMatrix x, std::span<const std::int64_t> positions, Matrix out, ConstMatrix cos,
            ConstMatrix sin, std::int64_t head_dim, const PointwisePolicy& policy) {
  const std::int64_t half = head_dim / 2;
  NB_CHECK(head_dim > 0 && head_dim % 2 == 0 && same_shape(x, out) && x.cols % head_dim == 0,
           "[rotary] x is ({},{}), out ({},{}), heads of {}", x.rows, x.cols, out.rows, out.cols,
           head_dim);
  NB_CHECK(static_cast<std::int64_t>(positions.size()) == x.rows && same_shape(cos, sin) &&
               cos.cols == half,
           "[rotary] {} positions for {} rows; tables are ({},{}), {} columns needed",
           positions.size(), x.rows, cos.rows, cos.cols, half);
  for (const std::int64_t position : positions) {
    NB_CHECK(position >= 0 && position < cos.rows, "[rotary] position {}, the tables hold {}",
             position, cos.rows);
  }
  const inner::Table& table = inner::table();
  const int rounding = inner::rounding_of(policy);
  each_row(x.rows, x.cols, [&](std::int64_t i) {
    const std::int64_t position = positions[static_cast<std::size_t>(i)];
    for (std::int64_t at = 0; at < x.cols; at += head_dim) {
      table.rotary(x.row(i) + at, cos.row(position), sin.row(position), half, 1.0f, out.row(i) + at,
                   rounding, policy.eager);
    }
  });
}

void rotary_backward(ConstMatrix dy, Matrix dx, ConstMatrix cos, ConstMatrix sin,
                     const RotaryShape& shape, const PointwisePolicy& policy) {
  turn("rotary_backward", dy, dx, cos, sin, shape, policy, -1.0f);
}

}  // namespace nb::kernels
