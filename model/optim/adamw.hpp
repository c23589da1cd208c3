// AdamW over whole tensors; sharded by rows over the ranks of a communicator as nanochat's
// DistAdamW: reduce-scatter, update of the own slice, all-gather. Moments in fp32 or the
// policy's dtype (wte).
#pragma once

#include <string_view>
#include <vector>

#include "model/autograd/parameter.hpp"
#include "model/collectives/communicator.hpp"
#include "model/device/device.hpp"
#include "model/kernels/adamw.hpp"
#include "model/optim/optimizer.hpp"

namespace nb {

using AdamWDenominator = kernels::AdamWDenominator;
std::string_view name(AdamWDenominator denominator);  // "scaled_step", "bias_corrected"

struct AdamWGroup {
  Parameter* parameter;
  double learning_rate;  // base; the schedule multiplies it
};
struct AdamWRules {
  double beta1 = 0.8;
  double beta2 = 0.95;
  double epsilon = 1e-10;
  double weight_decay = 0;
  AdamWDenominator denominator = AdamWDenominator::kScaledStep;
};

class AdamW : public Optimizer {
 public:
  // Parameters, device and communicator (null: a single card) outlive it. More than one rank: dry
  // devices only, and the first size of every tensor of 1024 elements or more divisible by the
  // ranks (NB_CHECK).
  AdamW(std::vector<AdamWGroup> groups, const AdamWRules& rules, Device& device,
        Communicator* communicator);
  void step(const SchedulePoint& point) override;
  void allocate_state() override;
  std::vector<NamedState> state() override;

 private:
  struct Moments {
    Tensor m, v;
  };
  void step_one(const AdamWGroup& group, Moments& moments, const SchedulePoint& point);
  void step_sharded(const SchedulePoint& point);
  std::vector<AdamWGroup> groups_;
  AdamWRules rules_;
  Device& device_;
  Communicator* communicator_;
  std::vector<Moments> moments_;  // one a group once allocated
};

}  // namespace nb
