// Naive definitions of activations, of products and sums with vectors and their gradients, of layer
// norm and dropout. Same parameters as the kernels of the same name.
#pragma once

#include <span>

#include "model/kernels/activation.hpp"
#include "model/kernels/broadcast.hpp"
#include "model/kernels/dropout.hpp"
#include "model/kernels/layer_norm.hpp"

namespace nb::kernels::reference {

void silu(ConstMatrix x, Matrix out, DType storage);
void silu_backward(ConstMatrix dy, ConstMatrix x, Matrix dx, DType storage);
void sigmoid(ConstMatrix x, Matrix out, DType storage);
void sigmoid_backward(ConstMatrix dy, ConstMatrix y, Matrix dx, DType storage);
void gelu(ConstMatrix x, Matrix out, DType storage);
void gelu_backward(ConstMatrix dy, ConstMatrix x, Matrix dx, DType storage);

void multiply(ConstMatrix a, ConstMatrix b, Matrix out, DType storage);
void add_bias(ConstMatrix x, ConstMatrix bias, Matrix out, DType storage);
void scale(ConstMatrix x, float factor, Matrix out, DType storage);
void gain_gradient(ConstMatrix dy, ConstMatrix x, const ParameterGradient& dgain,
                   const PointwisePolicy& policy);
void bias_gradient(ConstMatrix dy, const ParameterGradient& dbias, const PointwisePolicy& policy);
void factor_gradient(ConstMatrix dy, ConstMatrix x, const ParameterGradient& dfactor,
                     const PointwisePolicy& policy);
void gate_heads(ConstMatrix x, ConstMatrix gate, Matrix out, DType storage);
void gate_heads_gradient(ConstMatrix dy, ConstMatrix x, Matrix dgate,
                         const PointwisePolicy& policy);

void layer_norm(ConstMatrix x, std::span<const float> gain, std::span<const float> bias, Matrix out,
                std::span<float> mean, std::span<float> rstd, DType storage, float epsilon,
                Rsqrt rsqrt = Rsqrt::kPrecise);
void layer_norm_backward(ConstMatrix dy, ConstMatrix x, std::span<const float> gain,
                         std::span<const float> mean, std::span<const float> rstd, Matrix dx,
                         DType storage);
void layer_norm_weights_gradient(ConstMatrix dy, ConstMatrix x, std::span<const float> mean,
                                 std::span<const float> rstd, const ParameterGradient& dgain,
                                 const ParameterGradient& dbias);

void dropout(ConstMatrix x, double rate, const Rng& rng, Matrix out, DType storage);

}  // namespace nb::kernels::reference
