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

inline constexpr std::int64_t kSmallestShared = 1024;  // elements: nanochat's optim.py @ 92d63d4
// Whether the cards share the tensor's update by rows: not where it has fewer elements than that,
// and not where its rows do not divide (nanochat stops there). Then every card keeps the whole
// state and updates all of it.
bool shares_rows(const Tensor& tensor, int ranks);

class AdamW : public Optimizer {
 public:
  // Parameters, device and communicator (null: a single card) outlive it.
  AdamW(std::vector<AdamWGroup> groups, const AdamWRules& rules, Device& device,
        Communicator* communicator);
  void reduce() override;
  std::vector<OwnGradient> own_gradients() override;
  void step(const SchedulePoint& point) override;
  void allocate_state() override;
  std::vector<NamedState> state() override;

 private:
  struct Moments {
    Tensor m, v;
  };
  struct Reduced {
    Tensor gradient;  // of the own slice; empty: the whole one, in place
    std::int64_t end_ns = 0;
  };
  void step_slice(std::size_t group, const SchedulePoint& point);
  kernels::AdamWSettings settings_of(const AdamWGroup& group, const SchedulePoint& point) const;
  void step_one(const AdamWGroup& group, Moments& moments, const SchedulePoint& point);
  void step_sharded(const SchedulePoint& point);
  std::vector<AdamWGroup> groups_;
  AdamWRules rules_;
  Device& device_;
  Communicator* communicator_;
  std::vector<Moments> moments_;  // one per group once allocated
  std::vector<Reduced> reduced_;  // one a group between reduce() and step()
};

}  // namespace nb
