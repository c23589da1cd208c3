// RMS norm without gain, over each row; also the norm of q and k: see (B,T,H,D) as (B·T·H, D).
// fp32 inside in both pointwise modes (torch's rms_norm upcasts), rounded once to storage.
// Any operand may be bf16 where storage is bf16.
// Row sums: 16 virtual lanes (column mod 16), fixed tree (policy of reduce.hpp).
#pragma once

#include <span>

#include "model/kernels/policy.hpp"
#include "model/tensor/dtype.hpp"
#include "model/tensor/view.hpp"

namespace nb::kernels {

inline constexpr float kRmsNormEpsilon = 1.1920929e-07f;  // fp32 machine epsilon: torch's eps=None

// ss = Σ fma(x,x,·); rstd = 1 / sqrt(ss / C + eps), by `rsqrt`; out = round(x * rstd).
// Saves for backward: x (the caller keeps it) and rstd, one per row. rstd may be empty (inference).
void rms_norm(ConstAnyMatrix x, AnyMatrix out, std::span<float> rstd, DType storage,
              float epsilon = kRmsNormEpsilon, Rsqrt rsqrt = Rsqrt::kPrecise);

// dot = Σ fma(dy,x,·); coef = ((dot * rstd) * rstd) * rstd / C; dx = round(fma(-coef, x, rstd *
// dy)). dx may be dy.
void rms_norm_backward(ConstAnyMatrix dy, ConstAnyMatrix x, std::span<const float> rstd,
                       AnyMatrix dx, DType storage);

// dx = add(dx, rms_norm_backward(dy, x, rstd)): the residual's gradient and the branch's.
void rms_norm_backward_add(ConstAnyMatrix dy, ConstAnyMatrix x, std::span<const float> rstd,
                           AnyMatrix dx, DType storage);

}  // namespace nb::kernels
