#include "model/kernels/rotary.hpp"

#include "harness/base/check.hpp"
#include "harness/base/portable_math.hpp"
#include "model/kernels/inner/dispatch.hpp"
#include "model/kernels/row_loop.hpp"
#include "model/kernels/scratch.hpp"

namespace nb::kernels {
namespace {

// Heads of one row. Pairs are put into halves and back; their rotation is by plus the angle.
class HeadRotation {
 public:
  HeadRotation(std::int64_t head_dim, RotaryLayout layout, const PointwisePolicy& policy,
               float sin_sign)
      : table_(inner::table()),
        half_(head_dim / 2),
        is_paired_(layout == RotaryLayout::kPairs),
        sin_sign_(is_paired_ ? -sin_sign : sin_sign),
        rounding_(inner::rounding_of(policy)),
        is_eager_(policy.eager) {}

  void run(const float* x, const float* cos, const float* sin, std::int64_t heads,
           float* out) const {
    if (is_paired_) return run_pairs(x, cos, sin, heads, out);
    for (std::int64_t h = 0; h < heads; ++h, x += 2 * half_, out += 2 * half_) {
      table_.rotary(x, cos, sin, half_, sin_sign_, out, rounding_, is_eager_);
    }
  }

 private:
  void run_pairs(const float* x, const float* cos, const float* sin, std::int64_t heads,
                 float* out) const {
    const Scratch scratch(static_cast<std::size_t>(2 * half_) * sizeof(float));
    float* halves = scratch.floats();
    for (std::int64_t h = 0; h < heads; ++h, x += 2 * half_, out += 2 * half_) {
      for (std::int64_t i = 0; i < half_; ++i) {
        halves[i] = x[2 * i];
        halves[half_ + i] = x[2 * i + 1];
      }
      table_.rotary(halves, cos, sin, half_, sin_sign_, halves, rounding_, is_eager_);
      for (std::int64_t i = 0; i < half_; ++i) {
        out[2 * i] = halves[i];
        out[2 * i + 1] = halves[half_ + i];
      }
    }
  }

  const inner::Table& table_;
  std::int64_t half_;
  bool is_paired_;
  float sin_sign_;
  int rounding_;
  bool is_eager_;
};

void rotate(const char* op, ConstMatrix x, Matrix out, ConstMatrix cos, ConstMatrix sin,
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
  const HeadRotation rotation(shape.head_dim, shape.layout, policy, sin_sign);
  each_row(x.rows, x.cols, [&](std::int64_t i) {
    const std::int64_t position = shape.first_position + i % shape.time;
    rotation.run(x.row(i), cos.row(position), sin.row(position), shape.heads, out.row(i));
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
  rotate("rotary", x, out, cos, sin, shape, policy, 1.0f);
}

void rotary(ConstMatrix x, std::span<const std::int64_t> positions, Matrix out, ConstMatrix cos,
            ConstMatrix sin, std::int64_t head_dim, const PointwisePolicy& policy,
            RotaryLayout layout) {
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
  const HeadRotation rotation(head_dim, layout, policy, 1.0f);
  each_row(x.rows, x.cols, [&](std::int64_t i) {
    const std::int64_t position = positions[static_cast<std::size_t>(i)];
    rotation.run(x.row(i), cos.row(position), sin.row(position), x.cols / head_dim, out.row(i));
  });
}

void rotary_backward(ConstMatrix dy, Matrix dx, ConstMatrix cos, ConstMatrix sin,
                     const RotaryShape& shape, const PointwisePolicy& policy) {
  rotate("rotary_backward", dy, dx, cos, sin, shape, policy, -1.0f);
}

}  // namespace nb::kernels
