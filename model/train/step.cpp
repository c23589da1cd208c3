#include "model/train/step.hpp"

#include "model/ops/transfer.hpp"
#include "model/optim/groups.hpp"

namespace nb {

StepOutcome run_step(Decoder& decoder, std::span<const std::unique_ptr<Optimizer>> optimizers,
                     const StepPlan& plan, const SchedulePoint& point,
                     const std::function<Batch()>& next) {
  Device& device = decoder.device();
  StepOutcome outcome;
  device.synchronize();
  const std::int64_t start_ns = device.time_ns();
  const auto micro_batches = static_cast<double>(plan.accumulation_steps);
  for (std::int64_t micro = 0; micro < plan.accumulation_steps; ++micro) {
    const Batch batch = next();
    outcome.loss += static_cast<double>(decoder.loss_and_backward(
        batch.inputs, batch.targets, plan.rows, plan.length, 1.0 / micro_batches));
  }
  outcome.loss /= micro_batches;
  outcome.grad_norm = clip_gradients(decoder, plan.grad_clip);
  for (const auto& optimizer : optimizers) optimizer->step(point);
  decoder.zero_grad();
  ops::read_scalar(device, "train_loss");
  device.synchronize();
  outcome.time_ns = device.time_ns() - start_ns;
  return outcome;
}

}  // namespace nb
