// Naive definitions of the kernels that work row by row. Same parameters as the kernels of the same
// name.
#pragma once

#include <span>

#include "model/kernels/cross_entropy.hpp"
#include "model/kernels/rms_norm.hpp"
#include "model/kernels/rotary.hpp"

namespace nb::kernels::reference {

float round_to(const PointwisePolicy& policy, float value);

// 1 / sqrt(x), or that with 14 significant bits.
float inverse_root(float x, Rsqrt how);
void rms_norm(ConstMatrix x, Matrix out, std::span<float> rstd, DType storage,
              float epsilon = kRmsNormEpsilon, Rsqrt rsqrt = Rsqrt::kPrecise);
void rms_norm_backward(ConstMatrix dy, ConstMatrix x, std::span<const float> rstd, Matrix dx,
                       DType storage);
void rotary(ConstMatrix x, Matrix out, ConstMatrix cos, ConstMatrix sin, const RotaryShape& shape,
            const PointwisePolicy& policy);
void rotary_backward(ConstMatrix dy, Matrix dx, ConstMatrix cos, ConstMatrix sin,
                     const RotaryShape& shape, const PointwisePolicy& policy);
void embedding(ConstMatrix table, std::span<const int> ids, Matrix out, DType storage);
void embedding_backward(ConstMatrix dout, std::span<const int> ids, Matrix dtable, DType gradient);

}  // namespace nb::kernels::reference
