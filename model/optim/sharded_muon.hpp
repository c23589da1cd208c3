// Muon where every rank has rows of each matrix (FSDP), or columns (tensor parallel). The momentum
// is made where the rows are; of as many matrices of one shape as ranks, rank r then gets the whole
// update of matrix r in the policy's Muon dtype (all-to-all), orthogonalises it, and hands its rows
// back (all-to-all). Every operation is that of one card, so that all bits are. The exchange is
// that of microsoft/dion's Muon for FSDP2.
#pragma once

#include <vector>

#include "model/autograd/parameter.hpp"
#include "model/collectives/communicator.hpp"
#include "model/device/device.hpp"
#include "model/optim/optimizer.hpp"

namespace nb {

// Of a trained parameter, what this rank has: a parameter of its rows, or of none (value empty).
struct ParameterRows {
  Parameter* rows;
  Shape whole;
  bool is_columns = false;  // it has columns instead, as many as every rank
};

class ShardedMuon final : public Optimizer {
 public:
  // Parameters, device and communicator outlive it. The same matrices on every rank, in one order.
  ShardedMuon(std::vector<ParameterRows> matrices, double learning_rate, Device& device,
              Communicator& communicator);
  void step(const SchedulePoint& point) override;
  void allocate_state() override;
  std::vector<NamedState> state() override;  // of the own rows; none where there are none

 private:
  struct Block;
  std::vector<Block> blocks() const;
  void update_block(const Block& block, const SchedulePoint& point);
  std::vector<ParameterRows> matrices_;
  double learning_rate_;
  Device& device_;
  Communicator& communicator_;
  std::vector<Tensor> buffers_;  // one a matrix once allocated; empty: no rows here
};

}  // namespace nb
