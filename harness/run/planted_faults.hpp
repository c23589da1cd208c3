// Faults planted in a training of several ranks: lets it run, and when one ends it writes
// failure.json, the logs of the ranks and the text of the screen into the node's folder, and gives
// the checkpoints to the same training without the fault, which goes on from them.
#pragma once

#include <functional>
#include <memory>

#include "harness/faults/injector.hpp"
#include "harness/run/stage.hpp"

namespace nb {

class PlantedFaults {
 public:
  // None where the device plants none.
  static Result<std::unique_ptr<PlantedFaults>> create(const TrainWork& work,
                                                       const StageContext& context, Device& device,
                                                       std::int64_t vocab_size);
  Disturbance* disturbance() { return injector_.get(); }
  // train(), unless a fault ends it before it begins. A fault that ends it: run_error in one
  // sentence, the files written. Exceptions of another cause pass.
  Result<void> watch(const std::function<Result<void>()>& train);

 private:
  PlantedFaults(const StageContext& context, std::int64_t steps,
                std::unique_ptr<Injector> injector);
  Result<void> end(FailureStory story, double host_s);
  Result<void> hand_over() const;

  const StageContext& context_;
  const std::int64_t steps_;
  std::unique_ptr<Injector> injector_;
};

}  // namespace nb
