#include "model/train/dry_step.hpp"

#include <algorithm>

#include "model/collectives/communicator.hpp"
#include "model/decoder/decoder.hpp"
#include "model/device/device.hpp"
#include "model/optim/groups.hpp"
#include "model/train/step.hpp"

namespace nb {
namespace {

// Runs `warm_steps` short steps and, if asked, one whole one. A second micro-batch is enough to
// show the memory of all later ones: gradients are there while activations grow.
DryStep simulate(const DryStepRequest& request, const DeviceProfile& profile, int warm_steps,
                 bool measures) {
  Device device(profile, ExecutionMode::kDry,
                {.ranks = static_cast<int>(request.cards), .trace_steps = 0});
  Decoder decoder(request.config, device);
  decoder.init(0);
  decoder.set_recompute(request.recompute);
  const auto communicator =
      symmetric_communicator(device, static_cast<int>(request.cards),
                             static_cast<int>(request.nodes), request.between_nodes);
  const auto optimizers = make_optimizers(decoder, {}, communicator.get());
  StepPlan plan = {.accumulation_steps = std::min<std::int64_t>(request.accumulation_steps, 2),
                   .grad_clip = request.grad_clip};
  const Batch no_data = {request.device_batch_size, request.config.sequence_len, {}, {}};
  const auto next = [&] { return no_data; };
  for (int i = 0; i < warm_steps; ++i) run_step(decoder, optimizers, plan, {}, next);
  DryStep step;
  if (measures) {
    plan.accumulation_steps = request.accumulation_steps;
    const std::int64_t links_before = device.counters().collective_ns;
    step.step_time_ns = run_step(decoder, optimizers, plan, {}, next).time_ns;
    step.communication_time_ns = device.counters().collective_ns - links_before;
  }
  const MemoryStats memory = device.memory();
  step.peak_allocated_bytes = memory.peak_allocated_bytes;
  step.peak_reserved_bytes = memory.peak_reserved_bytes;
  return step;
}

}  // namespace

DryStep run_dry_step(const DryStepRequest& request, const DeviceProfile& profile) {
  return simulate(request, profile, 2, true);
}

bool step_fits(const DryStepRequest& request, const DeviceProfile& profile) {
  try {
    simulate(request, profile, 2, false);
    return true;
  } catch (const OutOfMemory&) {
    return false;
  }
}

std::int64_t largest_fitting_batch(DryStepRequest request, const DeviceProfile& profile) {
  std::int64_t good = 0;
  std::int64_t bad = request.device_batch_size + 1;
  while (bad - good > 1) {  // memory grows with the batch
    request.device_batch_size = good + (bad - good) / 2;
    (step_fits(request, profile) ? good : bad) = request.device_batch_size;
  }
  return good;
}

}  // namespace nb
