// Pipeline parallelism: every rank has a run of the blocks, with their gradients and optimizer
// state, the first one the embedding besides, the last one the head (decoder/part.hpp). What the
// next blocks read goes to the rank behind in forward, its gradient to the rank before in backward,
// transfers that follow one another posted together; none runs beside compute. Every rank updates
// what it has.
//
// Bits: those of one card with the same micro-batches, the norm too, whose squares are added in the
// model's order. Parameters that several stages read (residual lambdas, a tied table) have their
// gradients added over these, in the order of stages; of a tied table with several micro-batches
// that is another order than one card's.
//
// Of a decoder that is a part itself (tensor_shard.hpp) each of the tensor-parallel ranks sends
// what all of them have whole to the one of its part in the next stage; the norm is tensor
// parallelism's.
//
// Between steps the first rank has whole weights for validation, samples and checkpoints, which
// take neither simulated memory nor time there.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "model/collectives/communicator.hpp"
#include "model/data/loader.hpp"
#include "model/decoder/decoder.hpp"
#include "model/decoder/part.hpp"
#include "model/optim/optimizer.hpp"
#include "model/tensor/dtype.hpp"
#include "model/train/pipeline_schedule.hpp"
#include "model/train/stage_observer.hpp"

namespace nb {

struct TrainedModel;

// Rank (stage · copies + copy) · parts + part, as Megatron numbers them, has that stage of that
// copy of the model, or its part of it.
struct PipelinePlan {
  int rank = 0;
  int stages = 1;
  int copies = 1;
  int parts = 1;  // tensor-parallel ranks of a stage
  PipelineSchedule schedule = PipelineSchedule::k1f1b;
  std::optional<std::int64_t> micro_batches = {};  // between two drains; none: all of a step

  int part() const { return rank % parts; }
  int copy() const { return rank / parts % copies; }
  int stage() const { return rank / of_stage(); }
  int of_stage() const { return copies * parts; }  // ranks
  int ranks() const { return stages * of_stage(); }
};

// What a record says of one.
struct PipelineFacts {
  std::vector<double> sent_bytes;  // by each rank
  double bubble = 0;               // sum over steps of bubble_of()
  void add(const std::optional<PipelineFacts>& more);
};

// On a rank's thread, from begin() to end() of a step.
class PipelineRank {
 public:
  // Drops what the decoder has of other stages, which is not trained any more; the first rank's
  // stays on the host. The device's peaks begin here: a stage is born alone.
  PipelineRank(Decoder& decoder, const PipelinePlan& plan);

  const PipelinePlan& plan() const { return plan_; }
  void begin(Communicator& world);
  void end();

  // Forward and backward of this copy's micro-batches. share: of each one's gradient. on_loss is
  // told each loss on the last stage; behind_backward is called after each backward.
  struct Passes {
    std::vector<const Batch*> batches;
    double share = 1;
    std::function<void(std::size_t micro_batch, double loss)> on_loss;
    std::function<void()> behind_backward;
  };
  void run(const Passes& passes);
  // Gradients are summed over the stages that read a parameter and averaged over copies, in that
  // type; none: their own.
  void reduce(std::optional<DType> wire);
  // Whether this stage is the first of those that read it.
  bool is_first_reader(const std::string& parameter) const;
  // Of a decoder that is no part: reduce(), clipped by the norm of all stages, and applied; the
  // norm before clipping. loss() is asked when all stages have made their passes.
  double update(TrainedModel& model, std::optional<double> grad_clip, const SchedulePoint& point,
                const std::function<double()>& loss, const StageObserver* observer);
  // The loss from the last stage to all, with which a step ends for all at once.
  void tell_loss(double loss);

  // Simulated, of the passes of the step: when they ended, and how long it computed.
  std::int64_t passes_end_ns() const { return end_ns_; }
  std::int64_t busy_ns() const { return busy_ns_; }
  // Those of the same stage in another process.
  void take_times(std::int64_t end_ns, std::int64_t busy_ns) {
    end_ns_ = end_ns;
    busy_ns_ = busy_ns;
  }

 private:
  // What goes to or comes from a neighbour.
  struct Parcel {
    int peer = 0;  // stage
    std::vector<Tensor> tensors;
  };
  void exchange(Parcel& sent, Parcel& expected);
  void run_between_drains(const Passes& passes, std::size_t first, std::size_t count);
  double norm(bool is_device_work);

  Decoder& decoder_;
  Device& device_;
  PipelinePlan plan_;
  DecoderPart part_;
  std::unique_ptr<Communicator> stages_, copies_, ends_;  // of a step; null: not needed
  std::int64_t waited_ns_ = 0, busy_ns_ = 0, end_ns_ = 0;
};

// (T − t) / t of the passes of a step: T from their begin to the end of the last, t the mean time
// that the stages computed. With stages alike and free transfers (p − 1) / m.
double bubble_of(std::span<PipelineRank* const> ranks, std::int64_t begin_ns);

}  // namespace nb
