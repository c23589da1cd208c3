// Data parallelism in one process, for ports that get its gradients wrong: a second model on the
// same device takes every other micro-batch. Gradients are averaged, but for those that a port
// forgets; and a check tells which weights have come apart. Both models' work is on the one device:
// its time has two optimizers' steps, its memory two models; links between cards have no part.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "model/decoder/decoder.hpp"
#include "model/optim/groups.hpp"
#include "model/train/step.hpp"

namespace nb {

enum class Averaged {
  kAll,
  kMatrices,  // those of embeddings and head are not: every replica trains its own
};

// The second model with its optimizers. As one of the first model's optimizers it takes part in
// each step, and checkpoints hold its weights.
class Replica final : public Optimizer {
 public:
  // As the first model is at the start: with init(seed). The device outlives it.
  Replica(const DecoderConfig& config, Device& device, const OptimizerRates& rates,
          const OptimizerRules& rules, std::uint64_t seed, Averaged averaged);

  Decoder& decoder() { return decoder_; }
  const Decoder& decoder() const { return decoder_; }
  Averaged averaged() const { return averaged_; }

  void step(const SchedulePoint& point) override;  // its own optimizers
  void allocate_state() override;
  std::vector<NamedState> state() override;

 private:
  Decoder decoder_;
  std::vector<std::unique_ptr<Optimizer>> optimizers_;
  Averaged averaged_;
  bool has_stepped_ = false;
};

// run_step() of a model whose last optimizer is the replica. As in the port, each clips its own
// gradients before they are averaged. NB_CHECK: an even number of micro-batches.
StepOutcome run_step_with(Replica& replica, Decoder& decoder, OptimizerList optimizers,
                          const StepPlan& plan, const SchedulePoint& point,
                          const std::function<Batch()>& next);

// Names of the parameters whose values have different digests in the two.
std::vector<std::string> differing_parameters(const Decoder& a, const Decoder& b);

}  // namespace nb
