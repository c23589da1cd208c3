#include "model/ops/objectives.hpp"

#include <memory>
#include <utility>
#include <vector>

#include "harness/base/check.hpp"
#include "model/ops/result.hpp"
#include "model/ops/transfer.hpp"

namespace nb::ops {
namespace {

// From the losses of tokens to one number, whose gradient the host forms beside it. desc: kind,
// label, sizes. operands: on the device until backward is done.
Tensor objective(const Tensor& losses, OpDesc desc, OpKind backward_kind,
                 kernels::Objective objective, double scale, std::vector<Tensor> operands) {
  Device& device = losses.device();
  Tensor loss = device.allocate({1}, DType::kFp32, desc.label);
  desc.rows = losses.count();
  desc.inputs = {&losses};
  host::Values dlosses;
  if (device.executes() && wants_backward({&losses}, false))
    dlosses = std::make_shared<HostValues>(device, losses.shape().leading(), losses.shape().last());
  host::Objective op = {losses.values(), loss.values(), dlosses, {}, scale};
  if (device.executes())
    op.objective = std::make_shared<const kernels::Objective>(std::move(objective));
  forward(desc, loss, std::move(op), {&losses}, [&] {
    return [&device, shape = losses.shape(), desc, label = std::string(desc.label), backward_kind,
            dlosses, operands = std::move(operands)](const Tensor& dloss, SavedBlocks saved) {
      Tensor gradient = device.allocate(shape, DType::kFp32, label);
      OpDesc back = desc;
      back.kind = backward_kind;
      back.label = label;
      back.saves_for_backward = false;
      back.inputs = {&dloss};
      back.output = &gradient;
      device.run_backward(back, std::move(saved), [] {});
      return Tape::Gradients{device.executes() ? gradient.with_values(dlosses) : gradient};
    };
  });
  return loss;
}

}  // namespace

Tensor weighted_sum(const Tensor& losses, std::span<const float> weights, double scale) {
  Tensor on_device = upload_numbers(losses.device(), losses.count(), "weights");
  return objective(losses, {.kind = OpKind::kWeightedSum, .label = "weighted_sum"},
                   OpKind::kWeightedSumBackward,
                   kernels::WeightedSum{{weights.begin(), weights.end()}}, scale, {on_device});
}

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

Tensor preference_loss(const Tensor& losses, std::span<const PreferencePair> pairs,
                       const PreferenceOptions& options, double scale,
                       std::shared_ptr<PreferenceMetrics> metrics) {
  NB_CHECK(options.label_smoothing >= 0 && options.label_smoothing < 0.5,
           "[preference_loss] label smoothing {} is outside [0, 0.5)", options.label_smoothing);
  Tensor reference = upload_numbers(losses.device(), 2 * std::ssize(pairs), "reference_log_probs");
  return objective(
      losses,
      {.kind = OpKind::kPreferenceLoss,
       .label = "preference_loss",
       .has_second_term = options.label_smoothing > 0,
       .count = std::ssize(pairs)},
      OpKind::kPreferenceLossBackward,
      kernels::PreferenceObjective{
          .options = options, .pairs = {pairs.begin(), pairs.end()}, .metrics = std::move(metrics)},
      scale, {reference});
}

}  // namespace nb::ops
