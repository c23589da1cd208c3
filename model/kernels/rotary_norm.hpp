// Rotary embedding and the RMS norm of each head behind it (QK-norm) in one pass over the rows: the
// bits of rotary() and rms_norm(), one after the other, with the roundings of both.
#pragma once

#include <span>

#include "model/kernels/rms_norm.hpp"
#include "model/kernels/rotary.hpp"

namespace nb::kernels {

// x, out (rows, heads·head_dim): out = rms_norm(rotary(x)), both by `policy`, the norm rounded to
// its storage. turned: rotary(x), which the backward reads, or a Matrix without data: not kept.
// rstd: of each head of each row, or empty. turned may be x.
void rotary_norm(ConstMatrix x, Matrix turned, Matrix out, std::span<float> rstd, ConstMatrix cos,
                 ConstMatrix sin, const RotaryShape& shape, const PointwisePolicy& policy);
// Row r stands at positions[r].
void rotary_norm(ConstMatrix x, std::span<const std::int64_t> positions, Matrix turned, Matrix out,
                 std::span<float> rstd, ConstMatrix cos, ConstMatrix sin, std::int64_t head_dim,
                 const PointwisePolicy& policy);

// dx = rotary_backward(rms_norm_backward(dy, turned, rstd)). dx may be dy.
void rotary_norm_backward(ConstMatrix dy, ConstMatrix turned, std::span<const float> rstd,
                          Matrix dx, ConstMatrix cos, ConstMatrix sin, const RotaryShape& shape,
                          const PointwisePolicy& policy);

}  // namespace nb::kernels
