// The state of optimizers that ranks share (ZeRO-1, FSDP, pipelines), put together and handed out
// again: a checkpoint holds whole tensors under the names that one card gives them, whatever the
// mesh. It is the host's affair: no device's memory or time has part in it.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "model/device/device.hpp"
#include "model/optim/optimizer.hpp"
#include "model/train/stage_task.hpp"

namespace nb {

class SharedState {
 public:
  // One model a rank, which outlive it.
  explicit SharedState(std::vector<TrainedModel*> models);

  // Stand for the ranks' optimizers where a file is written or read: state() is whole, nothing
  // steps. Empty before the first step; allocate_state() makes that of every rank, too.
  std::span<const std::unique_ptr<Optimizer>> whole() const { return whole_; }
  void gather();   // from the ranks; nothing before the first step
  void scatter();  // to the ranks, where whole() was allocated; it is empty after that

 private:
  class Whole;
  Device host_;  // whose simulated memory is nobody's
  std::vector<std::unique_ptr<Optimizer>> whole_;
};

}  // namespace nb
