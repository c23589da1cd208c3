#include "model/train/step.hpp"

#include <cmath>

#include "model/data/batch_hash.hpp"
#include "model/ops/optimizer_ops.hpp"
#include "model/ops/transfer.hpp"
#include "model/optim/groups.hpp"
#include "model/train/not_finite.hpp"

namespace nb {

void finish_update(Decoder& decoder, OptimizerList optimizers, double norm,
                   const SchedulePoint& point, double loss, const StageObserver* observer) {
  if (!std::isfinite(norm)) return;
  const ObservedUpdate observed = {decoder, point, loss};
  if (observer != nullptr && observer->on_gradients) observer->on_gradients(observed);
  for (const auto& optimizer : optimizers) optimizer->step(point);
  if (observer != nullptr && observer->on_update) observer->on_update(observed);
  decoder.zero_grad();
}

void divide_by_scale(Device& device, std::span<Tensor* const> gradients, double loss_scale) {
  if (loss_scale != 1) ops::grad_scale(device, gradients, static_cast<float>(1 / loss_scale));
}

double apply_gradients(Decoder& decoder, OptimizerList optimizers, std::optional<double> grad_clip,
                       const SchedulePoint& point, double loss, const StageObserver* observer,
                       double loss_scale) {
  if (loss_scale != 1) {
    std::vector<Tensor*> gradients;
    for (Parameter* p : decoder.trained_parameters()) gradients.push_back(&p->grad);
    divide_by_scale(decoder.device(), gradients, loss_scale);
  }
  const double norm = grad_clip ? clip_gradients(decoder, *grad_clip) : gradient_norm(decoder);
  finish_update(decoder, optimizers, norm, point, loss, observer);
  return norm;
}

StepOutcome run_step(Decoder& decoder, OptimizerList optimizers, const StepPlan& plan,
                     const SchedulePoint& point, const std::function<Batch()>& next,
                     const StageObserver* observer) {
  Device& device = decoder.device();
  StepOutcome outcome;
  device.synchronize();
  const std::int64_t start_ns = device.time_ns();
  const TimeAccount account_before = device.account();
  const auto micro_batches = static_cast<double>(plan.accumulation_steps);
  std::optional<Device::Progress> before;
  BatchHash read;
  for (std::int64_t micro = 0; micro < plan.accumulation_steps; ++micro) {
    const Batch batch = next();
    tell_batch(observer, batch);
    read.add(batch);
    outcome.tokens += batch.rows * batch.length;
    const auto loss = static_cast<double>(decoder.loss_and_backward(
        batch.inputs, batch.targets, batch.rows, batch.length, plan.loss_scale / micro_batches));
    outcome.loss += loss;
    note_not_finite(outcome.not_finite, loss, decoder, batch);
    if (plan.gradient_sum) round_gradients(decoder, *plan.gradient_sum);
    if (!plan.counts_equal_micro_batches) continue;
    const std::int64_t left = plan.accumulation_steps - 1 - micro;
    if (before && left > 0 && device.continues_as(*before)) {
      device.repeat(*before, left);
      outcome.tokens += left * batch.rows * batch.length;
      break;
    }
    before = device.progress();
  }
  outcome.batch_hash = read.value();
  outcome.loss /= micro_batches;
  outcome.grad_norm = apply_gradients(decoder, optimizers, plan.grad_clip, point, outcome.loss,
                                      observer, plan.loss_scale);
  ops::read_scalar(device, "train_loss");
  device.synchronize();
  outcome.time_ns = device.time_ns() - start_ns;
  outcome.account = device.account() - account_before;
  return outcome;
}

}  // namespace nb
