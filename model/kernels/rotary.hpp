// Rotary position embedding in nanochat's half-split layout: per head, x1 = first half, x2 = second
// half of D,
//   y1 = x1*cos + x2*sin,   y2 = x1*(-sin) + x2*cos      (rotation by minus the angle).
// eager: each product and the sum are rounded to storage; fused: two fp32 products, one fp32 sum,
// rounded once. Saves nothing for backward.
#pragma once

#include <cstdint>
#include <span>

#include "model/kernels/policy.hpp"
#include "model/tensor/view.hpp"

namespace nb::kernels {

struct RotaryShape {
  std::int64_t time = 0;  // rows of one sequence in x; row r stands at first_position + r % time
  std::int64_t heads = 0;
  std::int64_t head_dim = 0;        // even
  std::int64_t first_position = 0;  // offset into the tables (KV cache)
};

// cos and sin (positions, head_dim / 2): inv_freq[i] = fp32(theta^(-2i/head_dim)), angle = fp32(t)
// * inv_freq in fp32, cosine and sine of that angle correctly rounded up to 1 ulp of double, then
// to fp32, then to `table`.
void rotary_tables(std::int64_t positions, std::int64_t head_dim, DType table, Matrix cos,
                   Matrix sin, double theta = 10000.0);

// x, out: (B·time, heads·head_dim); out may be x. cos, sin: tables with at least first_position +
// time rows.
void rotary(ConstMatrix x, Matrix out, ConstMatrix cos, ConstMatrix sin, const RotaryShape& shape,
            const PointwisePolicy& policy);
// Row r of x (rows, heads·head_dim) stands at positions[r]: sequences of any lengths in one batch.
void rotary(ConstMatrix x, std::span<const std::int64_t> positions, Matrix out, ConstMatrix cos,
            ConstMatrix sin, std::int64_t head_dim, const PointwisePolicy& policy);
// dx1 = dy1*cos + dy2*(-sin), dx2 = dy1*sin + dy2*cos, same rounding points. dx may be dy.
void rotary_backward(ConstMatrix dy, Matrix dx, ConstMatrix cos, ConstMatrix sin,
                     const RotaryShape& shape, const PointwisePolicy& policy);

}  // namespace nb::kernels
