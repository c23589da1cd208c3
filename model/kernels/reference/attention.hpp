// Naive definition of causal attention. Parameters of kernels/attention.hpp, in fp32.
#pragma once

#include "model/kernels/attention.hpp"

namespace nb::kernels::reference {

void attention(ConstMatrix q, ConstMatrix k, ConstMatrix v, Matrix out, const AttentionSaved& saved,
               const AttentionShape& shape, const MatmulPolicy& policy);
void attention_backward(ConstMatrix dout, ConstMatrix q, ConstMatrix k, ConstMatrix v,
                        ConstMatrix out, std::span<const float> row_max,
                        std::span<const float> row_sum, Matrix dq, Matrix dk, Matrix dv,
                        const AttentionShape& shape, const MatmulPolicy& policy);

}  // namespace nb::kernels::reference
