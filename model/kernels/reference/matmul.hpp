// The naive definition of a matrix product: one chain an element, written as README.md states it.
#pragma once

#include "model/kernels/policy.hpp"
#include "model/tensor/view.hpp"

namespace nb::kernels::reference {

// An operand as the chain sees it: rounded to the format, with the floor for bf16.
float matmul_input(float value, DType inputs);
// The sum over k of a(k)·b(k), k in [0, count), +0 added, not rounded. element(k) gives the raw
// operands.
struct Pair {
  float a, b;
};
template <class Element>
float chain_sum(std::int64_t count, const MatmulPolicy& policy, const Element& element);

// Operand layouts: see kernels/matmul.hpp.
void matmul_nt(ConstMatrix a, ConstMatrix b, Matrix c, const MatmulPolicy& policy,
               bool accumulate = false);
void matmul_nn(ConstMatrix a, ConstMatrix b, Matrix c, const MatmulPolicy& policy,
               bool accumulate = false);
void matmul_tn(ConstMatrix a, ConstMatrix b, Matrix c, const MatmulPolicy& policy,
               bool accumulate = false);
// Rounded to the policy's output.
float matmul_output(float sum, const MatmulPolicy& policy);

}  // namespace nb::kernels::reference

#include "model/kernels/reference/chain.hpp"
