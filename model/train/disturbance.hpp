// What happens to ranks that is no part of training: one dies, comes late, calls another
// collective, computes wrongly. The trainer says where it is; whoever disturbs it decides what
// happens there.
#pragma once

#include <cstdint>
#include <optional>

namespace nb {

class Communicator;
struct TrainedModel;

enum class StepPart : std::uint8_t {
  kForward,    // before the passes of a step
  kBackward,   // its gradients are there, not yet averaged
  kOptimizer,  // the weights are updated
  kEvaluate,   // before the validation of that step
  kSave        // before its checkpoint
};

class Disturbance {
 public:
  virtual ~Disturbance() = default;
  // On the thread of the rank whose model it is. May throw, change values, let the device's host
  // work or call collectives.
  virtual void in_step(StepPart part, std::int64_t step, TrainedModel& model,
                       Communicator& world) = 0;
  // Between steps, for all ranks at once, on the trainer's thread. May throw.
  virtual void between_steps(StepPart part, std::int64_t step) = 0;
  // How long a rank of this step waits in a collective (simulated); none: the profile's time-out.
  virtual std::optional<std::int64_t> limit_ns(std::int64_t step) const = 0;
  // In this step a loss or a norm that is not finite does not end the training: the optimizers
  // step, as PyTorch's do.
  virtual bool goes_on_with_nan(std::int64_t step) const = 0;
  // How many times slower the slowest link is than the profile's.
  virtual double link_slowdown(std::int64_t step) const = 0;
};

}  // namespace nb
