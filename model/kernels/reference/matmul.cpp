#include "model/kernels/reference/matmul.hpp"

#include <cmath>

namespace nb::kernels::reference {
namespace {

template <class Element>
void product(Matrix c, std::int64_t k_count, const MatmulPolicy& policy, bool accumulate,
             const Element& element) {
  for (std::int64_t i = 0; i < c.rows; ++i) {
    for (std::int64_t j = 0; j < c.cols; ++j) {
      const float sum =
          chain_sum(k_count, policy, [&](std::int64_t k) { return element(i, j, k); });
      const float rounded = matmul_output(sum, policy);
      c.row(i)[j] = accumulate ? c.row(i)[j] + rounded : rounded;
    }
  }
}

}  // namespace

float matmul_input(float value, DType inputs) {
  if (inputs == DType::kFp32) return value;
  const float rounded = round_to(inputs, value);
  if (inputs == DType::kBf16 && std::fabs(rounded) < 0x1p-56f) return std::copysign(0.0f, rounded);
  return rounded;
}

float matmul_output(float sum, const MatmulPolicy& policy) {
  if (policy.output == DType::kFp16 && policy.fp16_saturates) return round_to_fp16_saturating(sum);
  return round_to(policy.output, sum);
}

void matmul_nt(ConstMatrix a, ConstMatrix b, Matrix c, const MatmulPolicy& policy,
               bool accumulate) {
  product(c, a.cols, policy, accumulate, [&](std::int64_t i, std::int64_t j, std::int64_t k) {
    return Pair{a.row(i)[k], b.row(j)[k]};
  });
}

void matmul_nn(ConstMatrix a, ConstMatrix b, Matrix c, const MatmulPolicy& policy,
               bool accumulate) {
  product(c, a.cols, policy, accumulate, [&](std::int64_t i, std::int64_t j, std::int64_t k) {
    return Pair{a.row(i)[k], b.row(k)[j]};
  });
}

void matmul_tn(ConstMatrix a, ConstMatrix b, Matrix c, const MatmulPolicy& policy,
               bool accumulate) {
  product(c, a.rows, policy, accumulate, [&](std::int64_t i, std::int64_t j, std::int64_t k) {
    return Pair{a.row(k)[i], b.row(k)[j]};
  });
}

}  // namespace nb::kernels::reference
