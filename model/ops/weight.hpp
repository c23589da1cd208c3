// Products with a weight whose packing for the host is kept until the weight changes
// (Tensor::changes). Host arithmetic only: call inside what Device::run is given.
#pragma once

#include "model/device/tensor.hpp"
#include "model/kernels/matmul.hpp"
#include "model/kernels/policy.hpp"

namespace nb::ops {

// y (rows, out) = x (rows, in) · wᵀ; w (out, in).
void multiply_weight_nt(ConstNumbers x, const Tensor& w, Matrix y, const MatmulPolicy& policy,
                        const kernels::AfterBlock& after = {});
// dx (rows, in) = dy (rows, out) · w.
void multiply_weight_nn(ConstNumbers dy, const Tensor& w, Matrix dx, const MatmulPolicy& policy,
                        const kernels::AfterBlock& after = {});

// What such a product takes of w; null: the policy has no packed form.
const kernels::PackedMatrix* packed_weight(const Tensor& w, const MatmulPolicy& policy,
                                           kernels::PackFor use);

}  // namespace nb::ops
