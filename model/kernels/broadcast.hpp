// Products and sums with a vector, a number or a gate that a whole tensor meets, and the sums that
// are their gradients. Parallel inside; out may be x (or dy).
//
// Gradients of parameters, in eager mode: every product is rounded to storage (mul), and so is the
// sum (sum); fused: neither. The sum is then rounded to `gradient`, the parameter's dtype, and with
// accumulate added to what is there, rounded again. Columns are summed in row order in fp32, from
// +0.
#pragma once

#include <span>

#include "model/kernels/policy.hpp"
#include "model/tensor/dtype.hpp"
#include "model/tensor/view.hpp"

namespace nb::kernels {

// out = round(a * b); b has a's shape, or is one row that every row of a meets (a norm's gain).
void multiply(ConstMatrix a, ConstMatrix b, Matrix out, DType storage);

// out = round(x + bias), bias one row.
void add_bias(ConstMatrix x, ConstMatrix bias, Matrix out, DType storage);

// out = round(x * factor).
void scale(ConstMatrix x, float factor, Matrix out, DType storage);

// Where a parameter's gradient goes.
struct ParameterGradient {
  std::span<float> values;
  DType dtype = DType::kFp32;
  bool accumulate = false;
};

// dgain[j] = Σ_i dy(i,j) * x(i,j).
void gain_gradient(ConstMatrix dy, ConstMatrix x, const ParameterGradient& dgain,
                   const PointwisePolicy& policy);
// dbias[j] = Σ_i dy(i,j).
void bias_gradient(ConstMatrix dy, const ParameterGradient& dbias, const PointwisePolicy& policy);
// The one value of dfactor: Σ dy * x over everything. Rows in 16 virtual lanes with the fixed tree
// (reduce.hpp), fused as fma chains; the rows' sums are added in their order in double and rounded
// to fp32.
void factor_gradient(ConstMatrix dy, ConstMatrix x, const ParameterGradient& dfactor,
                     const PointwisePolicy& policy);

// x, out (rows, H·D), gate (rows, H): out = round(x * gate of its head).
void gate_heads(ConstMatrix x, ConstMatrix gate, Matrix out, DType storage);
// dgate (rows, H) = round(Σ dy * x of the head's D), in 16 virtual lanes with the fixed tree.
// Eager: of products rounded to storage; fused: a chain of fma.
void gate_heads_gradient(ConstMatrix dy, ConstMatrix x, Matrix dgate,
                         const PointwisePolicy& policy);

}  // namespace nb::kernels
