// What one training stage does with a model: its batches, its objective, its schedule, its
// validation. The trainer (trainer.hpp) does the rest, the same for all: the loop, rows, samples,
// checkpoints, resume.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "harness/base/json_io.hpp"
#include "harness/base/result.hpp"
#include "model/decoder/decoder.hpp"
#include "model/optim/adamw.hpp"
#include "model/optim/optimizer.hpp"
#include "model/train/context_rank.hpp"
#include "model/train/pipeline.hpp"
#include "model/train/replicas.hpp"
#include "model/train/sharded_weights.hpp"
#include "model/train/stage_observer.hpp"
#include "model/train/step.hpp"
#include "model/train/step_row.hpp"
#include "model/train/tensor_shard.hpp"

namespace nb {

class DataRanks;
class Disturbance;
class LentCommunicator;
class LossScaler;

// A model in training. The device outlives it.
struct TrainedModel {
  TrainedModel(const DecoderConfig& config, Device& device);
  ~TrainedModel();
  Decoder decoder;
  // Type in which gradients are averaged over cards that each have all of them; none: their own.
  std::optional<DType> reduce = {};
  // How the weights are cut, and those that are (FSDP); none, null: the decoder's are whole.
  std::optional<ShardPlan> shard_plan;
  std::unique_ptr<ShardedWeights> sharded;
  // The same of a tensor-parallel rank's part, which trains in the decoder's place.
  std::optional<TensorPlan> tensor_plan;
  std::unique_ptr<TensorShard> tensor;
  // Which stage of a pipeline it is, and that; none, null: all of the model.
  std::optional<PipelinePlan> pipeline_plan;
  std::unique_ptr<PipelineRank> pipeline;
  // Which tokens of every sequence it trains on; none, null: all.
  std::optional<ContextPlan> context_plan;
  std::unique_ptr<ContextRank> context;
  std::vector<std::unique_ptr<Optimizer>> optimizers;
  AdamWDenominator adamw_denominator = AdamWDenominator::kScaledStep;  // of these
  // Another model that is trained with it and ought to have the same weights; null: none. One of
  // the optimizers owns it.
  Replica* replica = nullptr;
  std::unique_ptr<LossScaler> scaler;       // of the first rank; null: the loss is not scaled
  const StageObserver* observer = nullptr;  // null: none. Outlives the training
  Disturbance* disturbance = nullptr;       // of ranks; null: none. Outlives the training
  std::unique_ptr<Decoder> reference;       // the weights a stage began with; null: not kept
  // What optimizers that are shared with other cards call; null: they are not shared.
  std::unique_ptr<LentCommunicator> shared;
  // The cards that train copies of it, this one among them; null: one card.
  std::unique_ptr<DataRanks> ranks;
};

class StageTask {
 public:
  virtual ~StageTask() = default;
  virtual TrainingStage stage() const = 0;
  virtual std::int64_t iterations() const = 0;  // updates
  // Of the model's inputs; none: steps differ, and each row says its own.
  virtual std::optional<std::int64_t> tokens_per_step() const = 0;
  // Of update `step`, 0 first.
  virtual SchedulePoint schedule(std::int64_t step) const = 0;
  // One update; adds to the row what this stage alone knows.
  virtual Result<StepOutcome> update(const SchedulePoint& point, StepRow& row) = 0;
  // The same each time for the same weights.
  virtual Result<void> validate(StepRow& row) = 0;
  // Where its data stands. restore() refuses other data.
  virtual Json state() const = 0;
  virtual Result<void> restore(const Json& state) = 0;
};

}  // namespace nb
