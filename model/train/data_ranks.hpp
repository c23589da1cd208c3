// Data parallelism: every rank trains a copy of the model on a card of its own. Of a step's
// micro-batches rank r of p takes r, r + p, …, so that a step reads what one card would read;
// gradients are averaged by all-reduces, one a parameter, in its dtype and the profile's order, and
// every rank makes the same update. With one micro-batch a rank, summed in the order of ranks (or p
// is 2), and p a power of two, all bits are those of one card that accumulates.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "model/device/device.hpp"
#include "model/train/mesh_settings.hpp"
#include "model/train/stage_task.hpp"
#include "model/train/step.hpp"

namespace nb {

class DataRanks {
 public:
  // Ranks 1 … p − 1 beside `first`, which is rank 0 and outlives them: devices of its profile with
  // models of its config. prepare() makes of each what the stage made of the first: adapters,
  // optimizers.
  DataRanks(TrainedModel& first, std::int64_t ranks,
            const std::function<void(TrainedModel&)>& prepare);
  ~DataRanks();

  std::int64_t size() const;
  // Weights and optimizer state of rank 0 to all, when training starts or goes on. That costs no
  // simulated time.
  void share();
  // One step on all ranks. Between steps every rank stands where rank 0 does: the others wait while
  // it validates, samples and saves. Throws what a rank throws.
  StepOutcome step(const StepPlan& plan, const SchedulePoint& point,
                   const std::function<Batch()>& next);
  // Parameters whose values are not the same on all ranks.
  std::vector<std::string> differing() const;

 private:
  struct Rank;
  TrainedModel& first_;
  std::vector<std::unique_ptr<Rank>> others_;
};

// The ranks of a mesh of more than one, which `model` is the first of from now on; null: one card.
std::unique_ptr<DataRanks> ranks_of(const std::optional<MeshSettings>& mesh, TrainedModel& model,
                                    const std::function<void(TrainedModel&)>& prepare);

// run_step() of the model, on all its ranks where it has more than one.
StepOutcome run_step(TrainedModel& model, const StepPlan& plan, const SchedulePoint& point,
                     const std::function<Batch()>& next);

}  // namespace nb
