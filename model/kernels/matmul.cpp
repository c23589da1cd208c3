#include "model/kernels/matmul.hpp"

#include <algorithm>
#include <vector>

#include "harness/base/check.hpp"
#include "harness/base/parallel.hpp"
#include "model/kernels/gemm.hpp"
#include "model/kernels/gemm_plan.hpp"
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
void long_product_tn(std::span<const TransposedProduct> products, ConstAnyMatrix b,
                     const MatmulPolicy& policy, bool accumulate) {
  const std::int64_t rows = products.front().c.rows, cols = products.front().c.cols;
  const std::int64_t all_rows = std::ssize(products) * rows, count = products.front().a.rows;
  const Scratch sums(static_cast<std::size_t>(all_rows * cols) * sizeof(float));
  const Matrix partial = matrix(sums.floats(), all_rows, cols);
  const std::int64_t most = tokens_at_once(policy);
  std::vector<TransposedProduct> block(products.size());
  for (std::int64_t begin = 0; begin < count; begin += most) {
    const std::int64_t tokens = std::min(most, count - begin);
    const bool is_last = begin + tokens == count;
    for (std::size_t i = 0; i < products.size(); ++i) {
      block[i] = {
          row_block(products[i].a, begin, tokens),
          is_last ? products[i].c : row_block(partial, static_cast<std::int64_t>(i) * rows, rows)};
    }
    multiply_transposed(gemm_format(policy.inputs), block, row_block(b, begin, tokens), policy,
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

void matmul_tn(ConstAnyMatrix a, ConstAnyMatrix b, Matrix c, const MatmulPolicy& policy,
               bool accumulate) {
  const TransposedProduct product = {a, c};
  matmul_tn({&product, 1}, b, policy, accumulate);
}

void matmul_tn(std::span<const TransposedProduct> products, ConstAnyMatrix b,
               const MatmulPolicy& policy, bool accumulate) {
  if (products.empty()) return;
  bool is_bf16 = b.bf16 != nullptr;
  for (const auto& [a, c] : products) {
    check_shapes("matmul_tn", {a.cols, 0, a.rows}, {0, b.cols, b.rows}, c);
    NB_CHECK(c.rows == products.front().c.rows, "[matmul_tn] c of {} rows and of {}",
             products.front().c.rows, c.rows);
    is_bf16 = is_bf16 || a.bf16 != nullptr;
  }
  NB_CHECK(!is_bf16 || takes_bf16(policy), "[matmul_tn] bf16, and inputs are {}",
           name(policy.inputs));
  if (uses_blas(policy)) {
    for (const auto& [a, c] : products) openblas_tn(a.matrix(), b.matrix(), c, accumulate);
    return;
  }
  if (products.size() > 1 && !may_stand_in_a_column(products.front().c.rows)) {
    for (const TransposedProduct& one : products) matmul_tn({&one, 1}, b, policy, accumulate);
    return;
  }
  if (policy.accumulation == Accumulation::kChain && b.rows > tokens_at_once(policy)) {
    return long_product_tn(products, b, policy, accumulate);
  }
  multiply_transposed(gemm_format(policy.inputs), products, b, policy, {.accumulate = accumulate});
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
  const TransposedProduct product = {a, partial};
  multiply_transposed(gemm_format(policy.inputs), {&product, 1}, b, policy,
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
