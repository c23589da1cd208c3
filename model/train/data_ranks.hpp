// Data parallelism: every rank trains a copy of the model on a card of its own. Of a step's
// micro-batches rank r of p takes r, r + p, …, so that a step reads what one card would read;
// gradients are averaged by all-reduces, one per parameter, in its dtype and the profile's order,
// and every rank makes the same update. With one micro-batch a rank, summed in the order of ranks
// (or p is 2), and p a power of two, all bits are those of one card that accumulates.
//
// ZeRO-1 (mesh/zero): gradients are reduce-scattered, each rank updates its part of the weights by
// its part of the optimizers' state, and the weights are gathered (optim/adamw.hpp, muon.hpp). The
// norm is of the ranks' squares, added in fp64 in their order: the last bits of a limit may be
// others than of one sum, whose chunks (kernels/reduce.hpp) begin elsewhere. Else all bits are
// those of the all-reduces: AdamW's in any order of a sum, Muon's where that is the order of ranks
// or p is 2, since a ring begins elsewhere in a whole matrix than in a piece of each.
//
// FSDP (mesh/fsdp): weights, gradients and state are cut by rows (sharded_weights.hpp); the norm is
// that of ZeRO-1. Tensor parallelism (mesh/tp): so many neighbours compute a micro-batch together
// (tensor_shard.hpp), and of p data-parallel groups each takes its share.
//
// Context parallelism (mesh/cp): so many neighbours compute a micro-batch together, each some
// tokens of its sequences (context_rank.hpp); gradients are averaged over all ranks.
//
// Pipelines (mesh/pp): each copy is cut into stages, a rank each (pipeline.hpp), or tp of them, who
// share the stage's blocks; the ranks of a copy take the same micro-batches.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "harness/base/json_io.hpp"
#include "harness/base/result.hpp"
#include "model/collectives/communicator.hpp"
#include "model/collectives/lent.hpp"
#include "model/device/device.hpp"
#include "model/optim/groups.hpp"
#include "model/train/mesh_settings.hpp"
#include "model/train/rank_exchange.hpp"
#include "model/train/sharded_weights.hpp"
#include "model/train/shared_state.hpp"
#include "model/train/stage_task.hpp"
#include "model/train/step.hpp"

namespace nb {

class Processes;

// A micro-batch of a step, forward and backward on a rank's model: adds `share` of its gradient and
// returns its loss. Called on the rank's thread.
using RankPass = std::function<double(TrainedModel& model, const Batch& batch,
                                      std::int64_t micro_batch, double share)>;

class DataRanks {
 public:
  // Ranks 1 … p − 1 beside `first`, which is rank 0 and outlives them: devices of its profile with
  // models of its config. prepare() makes of each what the stage made of the first: adapters,
  // optimizers.
  DataRanks(TrainedModel& first, const MeshSettings& mesh,
            const std::function<void(TrainedModel&)>& prepare);
  ~DataRanks();

  std::int64_t size() const;
  const MeshSettings& mesh() const { return mesh_; }
  std::vector<TrainedModel*> models() const;  // rank 0 first
  // Weights and optimizer state of rank 0 to all, when training starts or goes on; references have
  // theirs (add_reference). That costs no simulated time.
  void share();

  // One step on all ranks: begin(), passes, update().
  StepOutcome step(const StepPlan& plan, const SchedulePoint& point,
                   const std::function<Batch()>& next, const RankPass& pass);

  // Its parts, for a stage whose step has another form. Between steps every rank stands where rank
  // 0 does: the others wait while it validates, samples and saves.
  void begin(std::int64_t step);
  // body on every rank, each in a thread. Throws what the first of them throws.
  void run(const std::function<void(TrainedModel&, Communicator&)>& body);
  // Over several processes (collectives/remote_ranks.hpp) all run the training; the leading one has
  // what the others' ranks trained, behind each step, and validates, samples and saves.
  bool leads() const;
  // The checkpoint that the leading process goes on from, in all of them; empty: none.
  std::string agree(const std::string& checkpoint) const;
  // Before a checkpoint is written: optimizer state that other processes hold.
  void exchange_state();

  // On a rank, in run(): gradients are averaged, clipped and applied; the norm before clipping, as
  // apply_gradients(). loss() is asked on rank 0, when all ranks have made their passes. ZeRO-1: an
  // observer sees gradients before they are averaged.
  double update(TrainedModel& model, Communicator& world, std::optional<double> grad_clip,
                const SchedulePoint& point, const std::function<double()>& loss) const;

  // Where rank 0's optimizers are not the whole: what a checkpoint is written from and read into,
  // before share(). Null: they are.
  SharedState* shared_state() const { return shared_state_.get(); }
  // The other ranks' clocks and memory, where they are not rank 0's (ZeRO-1); else null.
  Json devices() const;
  Result<void> restore(const Json& devices);
  // What a user should know of weights that the ranks cannot share; empty: they share all.
  std::string unshared() const;

  // What the first rank has sent since the last call.
  SentBytes take_sent_bytes() { return std::exchange(sent_, {}); }
  // Of a pipeline, since the last call; else none. And what each rank's memory came to at most.
  std::optional<PipelineFacts> take_pipeline_facts() { return std::exchange(facts_, {}); }
  std::vector<std::uint64_t> peaks_of_stages() const;  // empty: no pipeline

  // Parameters whose values are not the same on all ranks.
  std::vector<std::string> differing() const;

 private:
  struct Rank;
  TrainedModel& first_;
  MeshSettings mesh_;
  std::int64_t step_ = 0;  // that runs
  double loss_scale_ = 1;  // of it
  std::vector<std::unique_ptr<Rank>> others_;
  std::unique_ptr<SharedState> shared_state_;
  SentBytes sent_;
  std::optional<PipelineFacts> facts_;

  // Of a job of several processes; null: all ranks are here. Of other processes' ranks what they
  // said last, and of this one's what the leading process is to hear.
  bool is_here(std::size_t rank) const;
  Processes* processes_;
  std::vector<RankReport> reports_;
  std::vector<std::string> news_;
  std::function<void(std::size_t rank, std::string_view news)> hear_;
};

// update() of a rank, whose loss() and observer are asked on rank 0 alone. Also of a dry rank that
// stands for all (collectives/symmetric.cpp).
double update_on_rank(TrainedModel& model, Communicator& world, std::optional<double> grad_clip,
                      const SchedulePoint& point, const std::function<double()>& loss,
                      const StageObserver* observer, double loss_scale = 1);
// Whose passes train: the rank's part of the model, or all of it.
Decoder& trained_decoder(TrainedModel& model);
// Of weights, gradients and optimizer state that ranks share, too.
void round_gradients(TrainedModel& model, DType dtype);
// note_not_finite() on a rank's thread: not of sharded weights, which are read by all ranks at
// once.
void note_on_rank(std::string& found, double loss, TrainedModel& model, const Batch& batch);

// From begin_on_rank() to end_on_rank() the rank's optimizers and sharded weights have the others.
void begin_on_rank(TrainedModel& model, Communicator& world);
void end_on_rank(TrainedModel& model);

// As long as it lives, a rank's weights are whole where they are sharded. All ranks make one.
class WholeWeights {
 public:
  explicit WholeWeights(TrainedModel& model);
  ~WholeWeights();
  WholeWeights(const WholeWeights&) = delete;
  WholeWeights& operator=(const WholeWeights&) = delete;

 private:
  ShardedWeights* sharded_;
};

// make_optimizers() of the model as its mesh has it, after its adapters are there.
void prepare_optimizers(TrainedModel& model, const OptimizerRates& rates,
                        const OptimizerRules& rules);

// What the model is as the first rank of a mesh, then prepare() of it.
void prepare_rank(const std::optional<MeshSettings>& mesh, TrainedModel& model,
                  const std::function<void(TrainedModel&)>& prepare);
// prepare() of the model: its adapters, its optimizers, with model.shared. And the other ranks of a
// mesh of more than one.
void prepare_ranks(const std::optional<MeshSettings>& mesh, TrainedModel& model,
                   const std::function<void(TrainedModel&)>& prepare);
// What a checkpoint is written from and read into, whole.
OptimizerList whole_optimizers(const TrainedModel& model);
// What a resumed run must share of its mesh; nothing of one card.
void add_mesh(const TrainedModel& model, Json& identity);
std::vector<TrainedModel*> models_of(TrainedModel& model);  // one per rank

// run_step() of the model, on all its ranks where it has more than one.
StepOutcome run_step(TrainedModel& model, const StepPlan& plan, const SchedulePoint& point,
                     const std::function<Batch()>& next);

}  // namespace nb
