// Rotary embedding and the RMS norm of each head behind it (QK-norm) in one pass over the rows: the
// bits of rotary() and rms_norm(), one after the other, with the roundings of both. bf16 where
// storage is bf16.
#pragma once

#include <span>

#include "model/kernels/rms_norm.hpp"
#include "model/kernels/rotary.hpp"

namespace nb::kernels {

// x, out (rows, heads·head_dim): out = rms_norm(rotary(x)), both by `policy`, the norm rounded to
// its storage. rotated: rotary(x), which the backward reads, or a matrix without data: not kept.
// rstd: of each head of each row, or empty. rotated may be x.
void rotary_norm(const ConstAnyMatrix& x, const AnyMatrix& rotated, const AnyMatrix& out,
                 std::span<float> rstd, ConstMatrix cos, ConstMatrix sin, const RotaryShape& shape,
                 const PointwisePolicy& policy);
// Row r stands at positions[r].
void rotary_norm(const ConstAnyMatrix& x, std::span<const std::int64_t> positions,
                 const AnyMatrix& rotated, const AnyMatrix& out, std::span<float> rstd,
                 ConstMatrix cos, ConstMatrix sin, std::int64_t head_dim,
                 const PointwisePolicy& policy);

// dx = rotary_backward(rms_norm_backward(dy, rotated, rstd)). dx may be dy.
void rotary_norm_backward(const ConstAnyMatrix& dy, const ConstAnyMatrix& rotated,
                          std::span<const float> rstd, const AnyMatrix& dx, ConstMatrix cos,
                          ConstMatrix sin, const RotaryShape& shape, const PointwisePolicy& policy);

}  // namespace nb::kernels
