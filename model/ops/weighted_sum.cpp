#include "model/ops/weighted_sum.hpp"

#include "model/ops/objective.hpp"
#include "model/ops/transfer.hpp"

namespace nb::ops {

Tensor weighted_sum(const Tensor& losses, std::span<const float> weights, double scale) {
  Tensor on_device = upload_numbers(losses.device(), losses.count(), "weights");
  return objective(losses, {.kind = OpKind::kWeightedSum, .label = "weighted_sum"},
                   OpKind::kWeightedSumBackward,
                   kernels::WeightedSum{{weights.begin(), weights.end()}}, scale, {on_device});
}

}  // namespace nb::ops
