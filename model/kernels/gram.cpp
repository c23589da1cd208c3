// A · Aᵀ from one triangle.
#include "harness/base/check.hpp"
#include "model/kernels/gemm.hpp"
#include "model/kernels/matmul.hpp"
#include "model/kernels/scratch.hpp"
#include "model/kernels/transpose.hpp"

namespace nb::kernels {

void matmul_gram(ConstMatrix a, Matrix c, const MatmulPolicy& policy) {
  NB_CHECK(c.rows == a.rows && c.cols == a.rows, "[matmul_gram] c is ({},{}), a ({},{})", c.rows,
           c.cols, a.rows, a.cols);
  if (policy.accumulation == Accumulation::kHostBlas) return matmul_nt(a, a, c, policy);
  if (a.rows == 0) return;
  const GemmFormat format = gemm_format(policy.inputs);
  const Scratch panels(panels_bytes(format, a.rows, a.cols));
  pack_all_panels(format, {a.data, a.stride, 1}, a.rows, a.cols, panels.words());
  multiply(format, {.source = a}, panels.words(), {a.rows, a.rows, a.cols}, c, policy,
           {.is_lower = true});
  mirror_lower(c);
}

}  // namespace nb::kernels
