// One optimizer step from parameters, gradients and a schedule point; named state for checkpoints.
// Not here: which parameter belongs to which optimizer (groups.hpp), schedules, clipping.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/device/tensor.hpp"

namespace nb {

struct SchedulePoint {
  std::int64_t step = 0;     // steps before this one; AdamW's t is one more update
  double lr_multiplier = 1;  // of every group's rate
  double momentum = 0.95;    // Muon's
  std::int64_t skipped = 0;  // of the steps before: not made (loss scaling)
};

struct NamedState {
  std::string name;  // "adamw.m.lm_head.weight"
  Tensor* tensor;
};

// What a card updates by when its optimizers are shared: a gradient, or its part of one.
struct OwnGradient {
  Tensor* gradient;
  bool is_counted;  // here, of the cards that have it: so that a norm over all cards has each once
};

class Optimizer {
 public:
  virtual ~Optimizer() = default;
  // Over several cards: averages the gradients, of which each card gets what it updates by. step()
  // does it where nobody has since the last one.
  virtual void reduce() {}
  // After reduce(). Empty: this card shares no optimizer.
  virtual std::vector<OwnGradient> own_gradients() { return {}; }
  // Updates every parameter from its gradient; gradients may be used as scratch. NB_CHECK: each has
  // one. Allocates its state at the first call, as torch does. Throws OutOfMemory.
  virtual void step(const SchedulePoint& point) = 0;
  // Allocates (zeroed) what the first step would, so that a checkpoint can be read into it.
  virtual void allocate_state() = 0;
  // In the order of allocation; empty before the first step.
  virtual std::vector<NamedState> state() = 0;
};

}  // namespace nb
