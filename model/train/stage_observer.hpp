// What a running stage hands out to whoever holds it against another implementation: its batches,
// the gradients of every update and the weights around it. Values are lent for the call; nothing is
// computed or copied for an observer, and a stage does the same with and without one. Not here:
// what a user is told of a training (TrainHooks).
#pragma once

#include <functional>

#include "model/data/loader.hpp"
#include "model/decoder/decoder.hpp"
#include "model/optim/optimizer.hpp"

namespace nb {

struct ObservedUpdate {
  const Decoder& decoder;      // with its gradients
  const SchedulePoint& point;  // what the optimizers are told
  double loss;                 // of this update, nat
};

// All are optional. Where a step makes several updates (RL), each of them is told.
struct StageObserver {
  std::function<void(const Batch&)> on_batch;  // before the pass over it
  // The sum over the update's batches, clipped where the stage clips; weights as they were.
  std::function<void(const ObservedUpdate&)> on_gradients;
  // The optimizers have stepped; what they left in the gradients means nothing.
  std::function<void(const ObservedUpdate&)> on_update;
};

inline void tell_batch(const StageObserver* observer, const Batch& batch) {
  if (observer != nullptr && observer->on_batch) observer->on_batch(batch);
}

}  // namespace nb
