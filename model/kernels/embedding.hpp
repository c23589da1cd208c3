// Token embedding. Saves nothing for backward but the ids. Ids out of [0, V) fail NB_CHECK.
#pragma once

#include <cstdint>
#include <span>

#include "model/tensor/dtype.hpp"
#include "model/tensor/view.hpp"

namespace nb::kernels {

// out (N,C)[i] = round_storage(table (V,C)[ids[i]]).
void embedding(ConstMatrix table, std::span<const int> ids, Matrix out, DType storage);

// out (N,C)[i] = from[rows[i]], bit for bit; +0 where rows[i] is -1.
void gather_rows(ConstMatrix from, std::span<const std::int64_t> rows, Matrix out);

// For each id that occurs: s = fp32 sum of its dout rows in token order, from +0;
// dtable[id] = round_gradient(dtable[id] + round_gradient(s)). Other rows are untouched.
// gradient: fp32, or the table's dtype where the framework keeps that gradient (nanochat: bf16
// wte).
void embedding_backward(ConstMatrix dout, std::span<const int> ids, Matrix dtable, DType gradient);

}  // namespace nb::kernels
