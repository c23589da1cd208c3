// Muon over the blocks' matrices (nanochat's muon.py); over the ranks of a communicator as
// DistMuon: by shape, in blocks of as many matrices as ranks: reduce-scatter to the owners, each
// updates its own, all-gather.
#pragma once

#include <span>
#include <vector>

#include "model/autograd/parameter.hpp"
#include "model/collectives/communicator.hpp"
#include "model/device/device.hpp"
#include "model/ops/optimizer_ops.hpp"
#include "model/optim/optimizer.hpp"

namespace nb {

class Muon : public Optimizer {
 public:
  // Parameters, device and communicator (null: a single card) outlive it.
  Muon(std::vector<Parameter*> parameters, double learning_rate, Device& device,
       Communicator* communicator);
  void reduce() override;
  std::vector<OwnGradient> own_gradients() override;
  void step(const SchedulePoint& point) override;
  void allocate_state() override;
  std::vector<NamedState> state() override;

 private:
  void update(std::span<const ops::MuonMatrix> matrices, const SchedulePoint& point);
  struct Block;
  std::vector<Block> blocks() const;
  void step_sharded(const SchedulePoint& point);
  std::vector<Parameter*> owned() const;  // those whose buffer this rank holds
  std::vector<std::vector<Parameter*>> shape_groups() const;
  std::vector<Parameter*> parameters_;
  double learning_rate_;
  Device& device_;
  Communicator* communicator_;
  std::vector<Tensor> buffers_;           // one an owned parameter once allocated
  std::vector<std::int64_t> reduced_ns_;  // one per block between reduce() and step()
};

}  // namespace nb
