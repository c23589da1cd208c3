#include "harness/base/check.hpp"
#include "model/kernels/gemm.hpp"
#include "model/kernels/matmul.hpp"
#include "model/kernels/scratch.hpp"
#include "model/kernels/simd_level.hpp"

namespace nb::kernels {

struct PackedMatrix::Form {
  PackFor use = PackFor::kNt;
  DType inputs = DType::kFp32;
  SimdLevel level = SimdLevel::kScalar;
  std::int64_t rows = 0, cols = 0;
  LargeBuffer panels;
};

PackedMatrix::PackedMatrix() = default;
PackedMatrix::PackedMatrix(PackedMatrix&& other) noexcept = default;
PackedMatrix& PackedMatrix::operator=(PackedMatrix&& other) noexcept = default;
PackedMatrix::~PackedMatrix() = default;

std::int64_t PackedMatrix::rows() const { return empty() ? 0 : form_->rows; }
std::int64_t PackedMatrix::cols() const { return empty() ? 0 : form_->cols; }

bool PackedMatrix::suits(PackFor use, const MatmulPolicy& policy) const {
  return !empty() && form_->use == use && form_->inputs == policy.inputs &&
         form_->level == simd_level() && policy.accumulation != Accumulation::kHostBlas;
}

void PackedMatrix::pack(ConstMatrix weight, const MatmulPolicy& policy, PackFor use) {
  NB_CHECK(policy.accumulation != Accumulation::kHostBlas, "[pack_weight] host BLAS packs nothing");
  if (form_ == nullptr) form_ = std::make_unique<Form>();
  Form& form = *form_;
  form.use = use;
  form.inputs = policy.inputs;
  form.level = simd_level();
  form.rows = weight.rows;
  form.cols = weight.cols;
  const bool by_rows = use == PackFor::kNt;
  const std::int64_t n = by_rows ? weight.rows : weight.cols;
  const std::int64_t k = by_rows ? weight.cols : weight.rows;
  const GemmFormat format = gemm_format(policy.inputs);
  form.panels.resize(panels_bytes(format, n, k));
  const Operand source =
      by_rows ? Operand{weight.data, weight.stride, 1} : Operand{weight.data, 1, weight.stride};
  pack_all_panels(format, source, n, k, form.panels.words());
}

PackedMatrix pack_weight(ConstMatrix weight, const MatmulPolicy& policy, PackFor use) {
  PackedMatrix packed;
  packed.pack(weight, policy, use);
  return packed;
}

const std::uint32_t* packed_panels(const PackedMatrix& packed) {
  return packed.form_->panels.words();
}

void matmul_nt(ConstMatrix a, const PackedMatrix& b, Matrix c, const MatmulPolicy& policy,
               bool accumulate, const AfterBlock& after) {
  NB_CHECK(b.suits(PackFor::kNt, policy), "[matmul_nt] b is not packed for this product");
  NB_CHECK(a.cols == b.cols() && c.rows == a.rows && c.cols == b.rows(),
           "[matmul_nt] a is ({},{}), b ({},{}), c ({},{})", a.rows, a.cols, b.rows(), b.cols(),
           c.rows, c.cols);
  multiply(gemm_format(policy.inputs), {.source = a}, b.form_->panels.words(),
           {c.rows, c.cols, a.cols}, c, policy, {.accumulate = accumulate, .after = &after});
}

void matmul_nn(ConstMatrix a, const PackedMatrix& b, Matrix c, const MatmulPolicy& policy,
               bool accumulate, const AfterBlock& after) {
  NB_CHECK(b.suits(PackFor::kNn, policy), "[matmul_nn] b is not packed for this product");
  NB_CHECK(a.cols == b.rows() && c.rows == a.rows && c.cols == b.cols(),
           "[matmul_nn] a is ({},{}), b ({},{}), c ({},{})", a.rows, a.cols, b.rows(), b.cols(),
           c.rows, c.cols);
  multiply(gemm_format(policy.inputs), {.source = a}, b.form_->panels.words(),
           {c.rows, c.cols, a.cols}, c, policy, {.accumulate = accumulate, .after = &after});
}

}  // namespace nb::kernels
