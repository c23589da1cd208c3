// How a NumericsPolicy is written in a profile: every entry with its source. Not for other folders:
// they see NumericsPolicy and the card of entries.
#pragma once

#include <optional>
#include <vector>

#include "model/device/numerics.hpp"
#include "model/device/quantity.hpp"

namespace nb {

struct NumericsFile {
  NumericsFile();
  explicit NumericsFile(const NumericsPolicy& policy);  // without sources

  Sourced<DType> storage, matmul_inputs, matmul_output;
  std::optional<Sourced<DType>> linear_inputs;  // absent: as matmul_inputs
  Sourced<Accumulation> accumulation;
  Quantity split_k{"part", 1};
  Sourced<Pointwise> pointwise, score_pointwise, generate_pointwise, tune_pointwise;
  Sourced<DType> weight_gradient, embedding_weight, adam_moments, muon_momentum, muon_matmul;
  Sourced<Fp16Overflow> fp16_overflow;
  Sourced<LossScaling> loss_scaling;
  Sourced<VectorFunctions> vector_functions;
  Sourced<DType> collective;
  Sourced<ReductionOrder> reduction_order;

  FieldList fields();
  NumericsPolicy policy() const;
  std::vector<PolicyEntry> card();
};

}  // namespace nb
