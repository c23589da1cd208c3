// Attention over some of a row's keys joined with that over others (ring attention,
// arXiv:2310.01889; the rescaling of flash attention, arXiv:2205.14135): with lse = m + log l
//   out = Σ e^(lse_i − lse) out_i ,  lse = log Σ e^(lse_i)
// where m and l stay two numbers, which loses no bits in a logarithm.
#pragma once

#include <span>

#include "model/kernels/attention.hpp"
#include "model/tensor/view.hpp"

namespace nb::kernels {

// What attention() left of one part, in fp32: out (B·queries, heads·D), the rest (batch, heads,
// queries).
struct ConstAttentionPart {
  ConstMatrix out;
  std::span<const float> row_max, row_sum;
};
struct AttentionPart {
  Matrix out;
  std::span<float> row_max, row_sum;
};

// whole becomes whole and part:
//   m = max(m1, m2) ; f_i = l_i * exp(m_i - m) ; l = f1 + f2 ; out = fma(f2 / l, out2, f1 / l *
//   out1)
void merge_attention(const AttentionPart& whole, const ConstAttentionPart& part,
                     const AttentionShape& shape);

}  // namespace nb::kernels
