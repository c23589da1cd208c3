// Layer norm with gain and bias over each row (torch's F.layer_norm, one kernel in eager mode too):
// fp32 inside in both pointwise modes, rounded once to storage.
// Row sums: 16 virtual lanes (column mod 16), fixed tree (reduce.hpp). Column sums: in row order.
#pragma once

#include <span>

#include "model/kernels/broadcast.hpp"
#include "model/kernels/policy.hpp"
#include "model/tensor/dtype.hpp"
#include "model/tensor/view.hpp"

namespace nb::kernels {

// mean = Σ x / C; c = x - mean; rstd = 1 / sqrt(Σ fma(c,c,·) / C + epsilon), by `rsqrt`;
// out = round((c * rstd) * gain + bias). mean, rstd: one per row for backward, or empty. out may be
// x.
void layer_norm(ConstMatrix x, std::span<const float> gain, std::span<const float> bias, Matrix out,
                std::span<float> mean, std::span<float> rstd, DType storage, float epsilon,
                Rsqrt rsqrt = Rsqrt::kPrecise);

// n = (x - mean) * rstd; g = dy * gain; a = Σ g / C; b = Σ fma(g,n,·) / C;
// dx = round(rstd * ((g - a) - n * b)). dx may be dy.
void layer_norm_backward(ConstMatrix dy, ConstMatrix x, std::span<const float> gain,
                         std::span<const float> mean, std::span<const float> rstd, Matrix dx,
                         DType storage);

// dgain[j] = Σ_i dy * n; dbias[j] = Σ_i dy: in fp32, rounded to the gradient's dtype alone. Either
// may have no values.
void layer_norm_weights_gradient(ConstMatrix dy, ConstMatrix x, std::span<const float> mean,
                                 std::span<const float> rstd, const ParameterGradient& dgain,
                                 const ParameterGradient& dbias);

}  // namespace nb::kernels
