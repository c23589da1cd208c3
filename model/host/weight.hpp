// Products with a weight whose packing for the host is kept until the weight changes
// (HostValues::changes).
#pragma once

#include "model/device/tensor.hpp"
#include "model/kernels/matmul.hpp"
#include "model/kernels/policy.hpp"

namespace nb::host {

// y (rows, out) = x (rows, in) · wᵀ; w (out, in).
void multiply_weight_nt(ConstAnyMatrix x, HostValues& w, Matrix y, const MatmulPolicy& policy,
                        const kernels::AfterBlock& after = {});
// dx (rows, in) = dy (rows, out) · w.
void multiply_weight_nn(ConstAnyMatrix dy, HostValues& w, Matrix dx, const MatmulPolicy& policy,
                        const kernels::AfterBlock& after = {});

// What such a product takes of w; null: the policy has no packed form.
const kernels::PackedMatrix* packed_weight(HostValues& w, const MatmulPolicy& policy,
                                           kernels::PackFor use);

}  // namespace nb::host
