// Matrix products in the canonical order of policy.hpp: bits depend on neither blocking, threads,
// vector width nor neighbouring rows. Naive definition: reference/matmul.hpp. C must not overlap A
// or B. Shapes disagree or a policy that the product cannot have: NB_CHECK. K = 0 gives +0.
// Parallel inside.
#pragma once

#include "model/kernels/policy.hpp"
#include "model/tensor/view.hpp"

namespace nb::kernels {

// C (M,N) = A (M,K) · B (N,K)ᵀ : y = x Wᵀ.  accumulate: C += the rounded product (one fp32
// addition).
void matmul_nt(ConstMatrix a, ConstMatrix b, Matrix c, const MatmulPolicy& policy,
               bool accumulate = false);
// C (M,N) = A (M,K) · B (K,N) : dx = dy W.
void matmul_nn(ConstMatrix a, ConstMatrix b, Matrix c, const MatmulPolicy& policy,
               bool accumulate = false);
// C (M,N) = A (K,M)ᵀ · B (K,N) : dW = dyᵀ x.
void matmul_tn(ConstMatrix a, ConstMatrix b, Matrix c, const MatmulPolicy& policy,
               bool accumulate = false);

// The same product as one matmul_tn, handed over in blocks of K rows (so that a (B·T, V) gradient
// need not exist at once): the chain continues from `partial` (M,N), which the first block starts.
// Only kChain; every block but the last must have an even number of rows. Afterwards matmul_finish:
// C = round(partial + 0), or C +=.
void matmul_tn_block(ConstMatrix a, ConstMatrix b, Matrix partial, const MatmulPolicy& policy,
                     bool is_first);
void matmul_finish(ConstMatrix partial, Matrix c, const MatmulPolicy& policy,
                   bool accumulate = false);

}  // namespace nb::kernels
