// Fully sharded weights (FSDP2 of PyTorch): of every parameter a rank keeps the rows that are its
// own (optim/row_shards.hpp), with their share of gradients and optimizer state. A unit, a block or
// all that is of no block (the root), is gathered for its forward, freed, and gathered again for
// its backward, behind which its gradients are reduce-scattered; the root stays from the beginning
// of a pass to its end. Units are neither prefetched nor reduced beside compute: every collective
// is waited for.
//
// Values: a gathered weight is the master weight rounded to `param`; a gradient is the average over
// ranks in `reduce`, in the profile's order, added to those of the step's other micro-batches. With
// one micro-batch a rank, and rows that divide or the order `mesh`, all bits are those of plain
// data parallelism; of copies of the shards (hybrid) those of a sum by groups.
//
// Between steps the first rank has whole weights for validation, samples and checkpoints, which
// take neither simulated memory nor time there.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/collectives/communicator.hpp"
#include "model/collectives/lent.hpp"
#include "model/decoder/decoder.hpp"
#include "model/decoder/weights.hpp"
#include "model/optim/optimizer.hpp"
#include "model/optim/row_shards.hpp"
#include "model/optim/sharded_muon.hpp"

namespace nb {

// Rank copy · pieces + piece of a mesh has that piece; copies of it are on `copies` ranks.
struct ShardPlan {
  int rank = 0;
  int pieces = 1;
  int copies = 1;
  std::optional<DType> param = {};   // of gathered weights; none: of the master weights
  std::optional<DType> reduce = {};  // of reduced gradients; none: of the gradients

  int piece() const { return rank % pieces; }
  int copy() const { return rank / pieces; }
  int ranks() const { return pieces * copies; }
};

class ShardedWeights final : public WeightHooks {
 public:
  // Cuts the decoder's weights, adapters too; the decoder outlives it. The first rank's stay whole
  // on the host. The device's peaks begin here: weights are born sharded.
  ShardedWeights(Decoder& decoder, const ShardPlan& plan);
  ~ShardedWeights() override;

  const ShardPlan& plan() const { return plan_; }
  std::span<const ParameterRows> trained() const { return trained_; }
  Communicator& group() { return group_; }  // of the pieces; lent in steps
  std::vector<OwnGradient> own_gradients();
  void round_gradients(DType dtype);
  void zero_grad();

  // A step, on the rank's thread: from begin() to end() weights are there where a pass reads them.
  void begin(Communicator& world);
  void end();
  // All of them, for a generation of answers, in which ranks do not take equal turns.
  void gather_all();
  void free_all();

  // Between steps, by the host: rows from whole weights, and into them.
  void take(Decoder& whole);
  void give(Decoder& whole) const;
  // Names of parameters whose rows differ from those of another copy.
  std::vector<std::string> differing(const ShardedWeights& other) const;

  void before_pass() override;
  void after_pass() override;
  void before_block(std::int64_t layer) override;
  void after_block(std::int64_t layer) override;
  void after_block_backward(std::int64_t layer) override;

 private:
  struct Part;  // of a parameter
  struct Unit {
    std::vector<Part*> parts;
    bool is_gathered = false;
  };
  struct Bundle;
  static std::vector<Bundle> bundles_of(std::span<Part* const> parts,
                                        const std::optional<DType>& wire, bool of_gradients);
  void gather(Unit& unit);
  void gather(const Bundle& bundle);
  void free(Unit& unit);
  void reduce(Unit& unit);
  void reduce(const Bundle& bundle);
  void add_gradient(Part& part, std::span<const float> reduced);
  void copy(std::string_view label, std::int64_t count, DType from, DType to);

  Decoder& decoder_;
  Device& device_;
  ShardPlan plan_;
  LentCommunicator group_, copies_;
  std::unique_ptr<Communicator> own_group_, own_copies_;  // of a step
  std::vector<std::unique_ptr<Part>> parts_;
  std::vector<ParameterRows> trained_;
  std::vector<Unit> units_;  // blocks, then the root
  bool is_in_step_ = false, is_whole_ = false;
};

}  // namespace nb
