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

// The rows of C's matrix are those of a; where it has no data, blocks are all there is of it.
class PackedProduct {
 public:
  static void run(const char* op, ConstAnyMatrix a, const PackedMatrix& b, PackFor use, Matrix c,
                  const MatmulPolicy& policy, bool accumulate, const AfterBlock& after) {
    NB_CHECK(b.suits(use, policy), "[{}] b is not packed for this product", op);
    NB_CHECK(a.bf16 == nullptr || takes_bf16(policy), "[{}] bf16, and inputs are {}", op,
             name(policy.inputs));
    const std::int64_t n = columns(b, use), k = use == PackFor::kNt ? b.cols() : b.rows();
    NB_CHECK(a.cols == k && c.rows == a.rows && c.cols == n,
             "[{}] a is ({},{}), b ({},{}), c ({},{})", op, a.rows, a.cols, b.rows(), b.cols(),
             c.rows, c.cols);
    multiply(gemm_format(policy.inputs), {.source = a}, b.form_->panels.words(), {c.rows, n, k}, c,
             policy, {.accumulate = accumulate, .after = &after});
  }
  static std::int64_t columns(const PackedMatrix& b, PackFor use) {
    return use == PackFor::kNt ? b.rows() : b.cols();
  }
};

void matmul_nt(ConstAnyMatrix a, const PackedMatrix& b, Matrix c, const MatmulPolicy& policy,
               bool accumulate, const AfterBlock& after) {
  PackedProduct::run("matmul_nt", a, b, PackFor::kNt, c, policy, accumulate, after);
}

void matmul_nn(ConstAnyMatrix a, const PackedMatrix& b, Matrix c, const MatmulPolicy& policy,
               bool accumulate, const AfterBlock& after) {
  PackedProduct::run("matmul_nn", a, b, PackFor::kNn, c, policy, accumulate, after);
}

void matmul_nt_blocks(ConstAnyMatrix a, const PackedMatrix& b, const MatmulPolicy& policy,
                      const AfterBlock& take) {
  PackedProduct::run("matmul_nt", a, b, PackFor::kNt,
                     {nullptr, a.rows, PackedProduct::columns(b, PackFor::kNt), 0}, policy, false,
                     take);
}

void matmul_nn_blocks(ConstAnyMatrix a, const PackedMatrix& b, const MatmulPolicy& policy,
                      const AfterBlock& take) {
  PackedProduct::run("matmul_nn", a, b, PackFor::kNn,
                     {nullptr, a.rows, PackedProduct::columns(b, PackFor::kNn), 0}, policy, false,
                     take);
}

}  // namespace nb::kernels
