#include "model/device/numerics.hpp"

#include "model/device/numerics_file.hpp"

namespace nb {

MatmulPolicy NumericsPolicy::matmul() const {
  return {matmul_inputs, accumulation, split_k, matmul_output,
          matmul_output == DType::kFp16 && fp16_overflow == Fp16Overflow::kSaturate};
}

MatmulPolicy NumericsPolicy::weight_gradient_matmul() const {
  MatmulPolicy policy = matmul();
  policy.output = weight_gradient;
  policy.fp16_saturates =
      weight_gradient == DType::kFp16 && fp16_overflow == Fp16Overflow::kSaturate;
  return policy;
}

MatmulPolicy NumericsPolicy::muon() const {
  MatmulPolicy policy = matmul();
  policy.inputs = muon_matmul;
  policy.output = muon_matmul;
  policy.fp16_saturates = false;
  return policy;
}

PointwisePolicy NumericsPolicy::pointwise_policy() const {
  return {storage, pointwise == Pointwise::kEager,
          storage == DType::kFp16 && fp16_overflow == Fp16Overflow::kSaturate};
}

std::vector<std::string> differing_entries(const NumericsPolicy& a, const NumericsPolicy& b) {
  const std::vector<PolicyEntry> left = NumericsFile(a).card();
  const std::vector<PolicyEntry> right = NumericsFile(b).card();
  std::vector<std::string> names;
  for (std::size_t i = 0; i < left.size(); ++i) {
    if (left[i].value != right[i].value) names.push_back(left[i].name);
  }
  return names;
}

}  // namespace nb
