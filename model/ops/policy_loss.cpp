#include "model/ops/policy_loss.hpp"

#include <utility>

#include "harness/base/check.hpp"
#include "model/ops/objective.hpp"
#include "model/ops/transfer.hpp"

namespace nb::ops {

std::vector<int> sequences_of(std::span<const int> targets, std::int64_t time) {
  NB_CHECK(time > 0, "[policy_loss] sequences of {} tokens", time);
  std::vector<int> sequences(targets.size());
  for (std::size_t i = 0; i < targets.size(); ++i)
    sequences[i] = targets[i] < 0 ? -1 : static_cast<int>(static_cast<std::int64_t>(i) / time);
  return sequences;
}

Tensor policy_loss(const Tensor& losses, const PolicyRows& rows, const PolicyOptions& options,
                   double scale, std::shared_ptr<PolicyMetrics> metrics) {
  Device& device = losses.device();
  const bool has_reference = options.kl_weight != 0;
  NB_CHECK(!device.executes() || !has_reference || !rows.reference_log_probs.empty(),
           "[policy_loss] a weight of {} for the divergence from no reference", options.kl_weight);
  const auto copy = [](auto numbers) { return std::vector(numbers.begin(), numbers.end()); };
  std::vector<Tensor> operands;
  for (const char* label : {"old_log_probs", "advantages", "sequences"})
    operands.push_back(upload_numbers(device, losses.count(), label));
  if (has_reference)
    operands.push_back(upload_numbers(device, losses.count(), "reference_log_probs"));
  return objective(losses,
                   {.kind = OpKind::kPolicyLoss,
                    .label = "policy_loss",
                    .has_second_term = has_reference,
                    .policy_form = options.form},
                   OpKind::kPolicyLossBackward,
                   kernels::PolicyObjective{.options = options,
                                            .old_log_probs = copy(rows.old_log_probs),
                                            .reference_log_probs = copy(rows.reference_log_probs),
                                            .advantages = copy(rows.advantages),
                                            .sequences = copy(rows.sequences),
                                            .metrics = std::move(metrics)},
                   scale, std::move(operands));
}

}  // namespace nb::ops
