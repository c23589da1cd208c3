#include "model/kernels/matmul.hpp"

#include <algorithm>

#include "harness/base/check.hpp"
#include "harness/base/parallel.hpp"
#include "model/kernels/gemm.hpp"
#include "model/kernels/inner/dispatch.hpp"
#include "model/kernels/openblas.hpp"
#include "model/kernels/scratch.hpp"

namespace nb::kernels {
namespace {

struct Shape {
  std::int64_t m, n, k;
};

void check_shapes(const char* op, const Shape& a_side, const Shape& b_side, Matrix c) {
  NB_CHECK(a_side.k == b_side.k, "[{}] k differs: a has {}, b has {}", op, a_side.k, b_side.k);
  NB_CHECK(c.rows == a_side.m && c.cols == b_side.n, "[{}] c is ({},{}), the product ({},{})", op,
           c.rows, c.cols, a_side.m, b_side.n);
}

bool uses_blas(const MatmulPolicy& policy) {
  if (policy.accumulation != Accumulation::kHostBlas) return false;
  NB_CHECK(policy.inputs == DType::kFp32 && policy.output == DType::kFp32,
           "[matmul] host BLAS is fp32 only, the policy says {} -> {}", name(policy.inputs),
           name(policy.output));
  return true;
}

void product(ConstMatrix a, const Operand& b, Matrix c, const MatmulPolicy& policy,
             bool accumulate) {
  if (c.size() == 0) return;
  const GemmFormat format = gemm_format(policy.inputs);
  const Scratch panels(panels_bytes(format, c.cols, a.cols));
  pack_all_panels(format, b, c.cols, a.cols, panels.words());
  multiply(format, {.source = a}, panels.words(), {c.rows, c.cols, a.cols}, c, policy,
           {.accumulate = accumulate});
}

// A chain over many tokens in blocks of them, so that what is packed of a block is still in the
// cache when all of C takes it.
constexpr std::int64_t kStepsAtOnce = 2048;
std::int64_t tokens_at_once(const MatmulPolicy& policy) {
  return kStepsAtOnce * gemm_format(policy.inputs).gemm->values_per_step;
}
void long_product_tn(ConstNumbers a, ConstNumbers b, Matrix c, const MatmulPolicy& policy,
                     bool accumulate) {
  const Scratch sums(static_cast<std::size_t>(c.size()) * sizeof(float));
  const Matrix partial = matrix(sums.floats(), c.rows, c.cols);
  const std::int64_t most = tokens_at_once(policy);
  for (std::int64_t begin = 0; begin < a.rows; begin += most) {
    const std::int64_t count = std::min(most, a.rows - begin);
    const bool is_last = begin + count == a.rows;
    multiply_turned(gemm_format(policy.inputs), row_block(a, begin, count),
                    row_block(b, begin, count), is_last ? c : partial, policy,
                    {.start = begin == 0 ? nullptr : partial.data,
                     .start_stride = partial.stride,
                     .finishes = is_last,
                     .accumulate = accumulate});
  }
}

}  // namespace

void matmul_nt(ConstMatrix a, ConstMatrix b, Matrix c, const MatmulPolicy& policy,
               bool accumulate) {
  check_shapes("matmul_nt", {a.rows, 0, a.cols}, {0, b.rows, b.cols}, c);
  if (uses_blas(policy)) return openblas_nt(a, b, c, accumulate);
  product(a, {b.data, b.stride, 1}, c, policy, accumulate);
}

void matmul_nn(ConstMatrix a, ConstMatrix b, Matrix c, const MatmulPolicy& policy,
               bool accumulate) {
  check_shapes("matmul_nn", {a.rows, 0, a.cols}, {0, b.cols, b.rows}, c);
  if (uses_blas(policy)) return openblas_nn(a, b, c, accumulate);
  product(a, {b.data, 1, b.stride}, c, policy, accumulate);
}

void matmul_tn(ConstNumbers a, ConstNumbers b, Matrix c, const MatmulPolicy& policy,
               bool accumulate) {
  check_shapes("matmul_tn", {a.cols, 0, a.rows}, {0, b.cols, b.rows}, c);
  NB_CHECK((a.halves == nullptr && b.halves == nullptr) || has_halves(policy),
           "[matmul_tn] halves, and inputs are {}", name(policy.inputs));
  if (uses_blas(policy)) return openblas_tn(a.matrix(), b.matrix(), c, accumulate);
  if (policy.accumulation == Accumulation::kChain && a.rows > tokens_at_once(policy)) {
    return long_product_tn(a, b, c, policy, accumulate);
  }
  multiply_turned(gemm_format(policy.inputs), a, b, c, policy, {.accumulate = accumulate});
}

void matmul_tn_block(ConstMatrix a, ConstMatrix b, Matrix partial, const MatmulPolicy& policy,
                     bool is_first) {
  check_shapes("matmul_tn_block", {a.cols, 0, a.rows}, {0, b.cols, b.rows}, partial);
  if (policy.accumulation == Accumulation::kHostBlas) {
    static_cast<void>(uses_blas(policy));
    return openblas_tn(a, b, partial, !is_first);
  }
  NB_CHECK(policy.accumulation == Accumulation::kChain,
           "[matmul_tn_block] only a chain can be continued, not block16 or splitk");
  if (partial.size() == 0) return;
  multiply_turned(gemm_format(policy.inputs), a, b, partial, policy,
                  {.start = is_first ? nullptr : partial.data,
                   .start_stride = partial.stride,
                   .finishes = false});
}

void matmul_finish(ConstMatrix partial, Matrix c, const MatmulPolicy& policy, bool accumulate) {
  NB_CHECK(partial.rows == c.rows && partial.cols == c.cols,
           "[matmul_finish] partial is ({},{}), c ({},{})", partial.rows, partial.cols, c.rows,
           c.cols);
  const int rounding = inner::rounding_of(policy.output, policy.fp16_saturates);
  const inner::Table& table = inner::table();
  parallel_chunks(static_cast<std::size_t>(c.rows), 64, [&](std::size_t begin, std::size_t end) {
    check_float_mode();
    for (auto i = static_cast<std::int64_t>(begin); i < static_cast<std::int64_t>(end); ++i) {
      table.finish(partial.row(i), c.cols, c.row(i), rounding, accumulate);
    }
  });
}

}  // namespace nb::kernels
