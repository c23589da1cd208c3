// Makes faults happen in a training of several ranks: a rank that is killed really ends, one that
// is late has its simulated clock moved, values really change. Whether the training survives is
// decided where the ranks meet (model/collectives).
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "harness/faults/fault_settings.hpp"
#include "harness/faults/rank_logs.hpp"
#include "harness/faults/tensor_digests.hpp"
#include "model/device/device.hpp"
#include "model/train/disturbance.hpp"

namespace nb {

class Injector final : public Disturbance {
 public:
  // Errors: those of parsing and of the environment.
  static Result<std::unique_ptr<Injector>> create(const FaultSettings& settings, Device& first,
                                                  int ranks);

  void in_step(StepPart part, std::int64_t step, TrainedModel& model, Communicator& world) override;
  void between_steps(StepPart part, std::int64_t step) override;
  std::optional<std::int64_t> limit_ns(std::int64_t step) const override;
  bool goes_on_with_nan(std::int64_t step) const override;
  double link_slowdown(std::int64_t step) const override;

  // Notes what every rank has, until the end.
  void keep(std::unique_ptr<TensorDigests> digests) { digests_ = std::move(digests); }
  Result<void> write_digests(std::int64_t end);  // of steps before it; nothing without keep()

  // What ends the training before it begins: a port that is taken, a rank that comes too late.
  std::optional<FailureStory> failed_at_start();
  // Why the training ended; none: no fault of these. steps and resume_step are the caller's.
  std::optional<FailureStory> failure() const;
  // A fault that stopped nothing has changed what checkpoints hold: the clock, values.
  bool has_changed_state() const;
  // One sentence a fault that stopped nothing: what it did, or that it was not reached. trained: to
  // its end.
  std::vector<std::string> notes(bool trained) const;
  const std::vector<std::string>& warnings() const { return limits_.warnings; }

 private:
  enum class State : std::uint8_t { kWaiting, kHappened, kEnded };
  struct Planted {
    RankFault fault;
    State state = State::kWaiting;
    FaultSite site;
    std::int64_t time_ns = 0;
    std::int64_t step_began_ns = 0;  // of a slow rank
  };
  Injector(FaultSettings settings, Limits limits, Device& first, int ranks);
  void meet(Planted& planted, StepPart part, std::int64_t step, TrainedModel& model,
            Communicator& world);
  void slow_down(Planted& planted, StepPart part, std::int64_t step, TrainedModel& model,
                 Communicator& world);
  void happened(Planted& planted, StepPart part, std::int64_t step, TrainedModel& model);
  StepPart part_met(const RankFault& fault, const TrainedModel& model) const;
  bool adds_to_another(const RankFault& fault);
  bool is_reached(const Planted& planted) const;
  bool skips_overflows() const;
  FaultOutcome outcome(const Planted& planted) const;
  FailureStory story(const Planted& planted) const;

  const FaultSettings settings_;
  const Limits limits_;
  const Launcher launcher_;
  Device& first_;
  const int ranks_;
  std::unique_ptr<TensorDigests> digests_;
  std::optional<std::int64_t> first_step_;  // of this run; written by rank 0
  mutable std::mutex mutex_;
  std::vector<Planted> planted_;
};

}  // namespace nb
