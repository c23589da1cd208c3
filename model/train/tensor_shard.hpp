// A tensor-parallel rank's part of a decoder (Megatron-LM, arXiv:1909.08053): its heads, its
// columns of the MLP, its tokens (tensor_cuts.hpp), as a decoder of its own whose activations meet
// those of the other ranks. Before products that give some columns nothing is sent; their input's
// gradient is all-reduced. Behind products of parts, the result is. The embedding is summed (the
// others give zeros, which is exact), and the loss from three numbers per row
// (ops/model_parallel.hpp). So every rank has the same whole activations, the same gradients of
// what is replicated, and the same loss.
//
// With sequence parallelism (arXiv:2205.05198) a rank has some rows of what lies between products,
// norms, residuals and what crosses a pipeline's boundary among it: all-gathers and reduce-scatters
// stand where all-reduces did, and gradients of what is read by rows are all-reduced once per step.
// What products read is kept whole for backward, where Megatron-LM gathers it again.
//
// Values: sums of parts round differently than one product does. What is a column's, and the
// embedding, has the bits of one card where its input has. Muon's matrices are whole for a moment
// (optim/sharded_muon.hpp).
//
// Between steps the first rank has whole weights for validation, samples and checkpoints, as with
// sharded_weights.hpp; that decoder's rotary tables stay on its card.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "model/collectives/communicator.hpp"
#include "model/collectives/lent.hpp"
#include "model/decoder/cuts.hpp"
#include "model/decoder/decoder.hpp"
#include "model/decoder/weights.hpp"
#include "model/optim/optimizer.hpp"
#include "model/optim/sharded_muon.hpp"

namespace nb {

// Rank (stage · copies + copy) · parts + part of a mesh has that part; copies of it are on `copies`
// ranks. Of more than one stage the part is cut again, by pipeline.hpp.
struct TensorPlan {
  int rank = 0;
  int parts = 1;
  int copies = 1;
  int stages = 1;
  std::optional<DType> reduce = {};  // of gradients averaged over copies; none: their own
  bool is_sequence_parallel = false;
  bool sums_row_gradients = true;  // of sequence parallelism; false: a port's defect

  int part() const { return rank % parts; }
  int copy() const { return rank / parts % copies; }
  int ranks() const { return parts * copies * stages; }
};

class TensorShard final : public WeightHooks, public Cuts {
 public:
  // The whole decoder outlives it and gives up its weights' memory; the first rank's stay on the
  // host. The device's peaks begin here: weights are born cut.
  TensorShard(Decoder& whole, const TensorPlan& plan);
  ~TensorShard() override;

  const TensorPlan& plan() const { return plan_; }
  Decoder& decoder() { return *part_; }
  std::span<const ParameterRows> trained() const { return trained_; }  // of all stages
  Communicator& group() { return group_; }  // of the parts; lent in steps
  void sum_row_gradients();                 // of sequence parallelism
  void average_gradients();                 // over copies; not of a pipeline
  // counts: whether this stage counts a parameter that it reads.
  std::vector<OwnGradient> own_gradients(const std::function<bool(const std::string&)>& counts);

  // What the optimizers of this rank train: of its stage alone.
  std::vector<ParameterRows> own() const;

  // A step, on the rank's thread.
  void begin(Communicator& world);
  void end();

  // Between steps, by the host: the part from whole weights, and into them; what other stages have
  // is left alone.
  void take(Decoder& whole);
  void give(Decoder& whole) const;
  // Names of parameters that differ from those of another rank and should not: all of its copies,
  // the replicated ones of every other.
  std::vector<std::string> differing(const TensorShard& other) const;

  std::int64_t rows_here(std::int64_t rows) const override;
  Tensor embedding(Parameter& table, std::span<const int> ids, std::int64_t rows,
                   bool is_whole) override;
  Tensor own_rows(const Tensor& x) override;
  Tensor before_columns(const Tensor& x) override;
  void after_part_sum(Tensor& y) override;
  Tensor head_loss(const Tensor& x, Parameter& w, std::span<const int> targets, double scale,
                   const ops::HeadOptions& options) override;

  void before_pass() override {}
  void after_pass() override {}
  void before_block(std::int64_t) override {}
  void after_block(std::int64_t) override {}
  void after_block_backward(std::int64_t) override {}

 private:
  std::int64_t first_token(const Parameter& table) const {
    return plan_.part() * table.value.shape()[0];
  }

  Device& device_;
  TensorPlan plan_;
  LentCommunicator group_, copies_;
  std::unique_ptr<Communicator> own_group_, own_copies_;  // of a step
  std::unique_ptr<Decoder> part_;
  std::vector<ParameterRows> trained_;
};

}  // namespace nb
