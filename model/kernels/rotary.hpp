// Rotary position embedding. Per head of width D, numbers are rotated in pairs (x1, x2):
//   halves, reversed (nanochat)          x1 in the first half of D, x2 in the second;
//                                        y1 = x1*cos + x2*sin,  y2 = x1*(-sin) + x2*cos
//   halves (NeoX, Hugging Face's LLaMA)  the same with -sin in the table: rotation by the angle
//   pairs (GPT-J, llama2.c)              x1 at 2i, x2 at 2i + 1;
//                                        y1 = x1*cos - x2*sin,  y2 = x1*sin + x2*cos
// eager: each product and the sum are rounded to storage; fused: two fp32 products, one fp32 sum,
// rounded once. Saves nothing for backward.
#pragma once

#include <cstdint>
#include <span>

#include "model/kernels/policy.hpp"
#include "model/tensor/view.hpp"

namespace nb::kernels {

// The kernels read kHalves as they read kHalvesReversed: the tables tell them apart.
enum class RotaryLayout : std::uint8_t { kHalvesReversed, kHalves, kPairs };

struct RotaryShape {
  std::int64_t time = 0;  // rows of one sequence in x; row r stands at first_position + r % time
  std::int64_t heads = 0;
  std::int64_t head_dim = 0;        // even
  std::int64_t first_position = 0;  // offset into the tables (KV cache)
  RotaryLayout layout = RotaryLayout::kHalvesReversed;
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
            ConstMatrix sin, std::int64_t head_dim, const PointwisePolicy& policy,
            RotaryLayout layout = RotaryLayout::kHalvesReversed);
// The rotation the other way, same rounding points: dx1 = dy1*cos + dy2*(-sin), dx2 = dy1*sin +
// dy2*cos; of pairs dx1 = dy1*cos + dy2*sin, dx2 = dy1*(-sin) + dy2*cos. dx may be dy.
void rotary_backward(ConstMatrix dy, Matrix dx, ConstMatrix cos, ConstMatrix sin,
                     const RotaryShape& shape, const PointwisePolicy& policy);

}  // namespace nb::kernels
