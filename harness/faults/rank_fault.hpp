// One fault of a rank that trains with others, as a suite names it: "kill:rank=3,step=20". Parsed
// and checked before any work; which kinds there are: faults.hpp.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "harness/base/fields.hpp"
#include "harness/base/result.hpp"
#include "harness/faults/fault_kinds.hpp"

namespace nb {

// Where in a step: before the passes, when the gradients are there, after the update; or before the
// validation or the checkpoint of that step.
enum class FaultPhase { kForward, kBackward, kOptimizer, kEvaluate, kSave };
enum class LateAt { kStep, kStart, kFirst };
enum class BusyPort { kMaster, kHost, kDevice };
enum class Mismatched { kOp, kCount, kDtype };
enum class NanIn { kGradient, kParameter };
enum class LinkState { kDown, kSlow };

struct RankFault {
  FaultKind kind = FaultKind::kKill;
  std::string text;  // as it was given
  // Those of its kind are read; steps count from 0.
  std::optional<std::int64_t> rank, step, bit;
  std::int64_t from = 0;
  std::optional<double> seconds, factor;
  FaultPhase phase = FaultPhase::kBackward;
  LateAt at = LateAt::kStep;
  BusyPort which = BusyPort::kMaster;
  Mismatched what = Mismatched::kCount;
  NanIn where = NanIn::kGradient;
  std::string ranks;  // "6-7"
  LinkState state = LinkState::kDown;
  std::string tensor;
  std::int64_t peer = -1;  // of a link: the other end
  FieldList fields();      // of its kind

  std::int64_t first_rank() const { return rank.value_or(0); }
  // Meets the first collective of a training, whichever that is.
  bool is_at_first_collective() const {
    return (kind == FaultKind::kLate && at == LateAt::kFirst) ||
           (kind == FaultKind::kMismatch && !step);
  }
  // The step that it waits for; none: it is there before the first.
  std::optional<std::int64_t> due_step() const;
};

// Errors: what kind_of_fault() says, a parameter that the kind does not have, lacks or cannot read.
Result<RankFault> parse_rank_fault(std::string_view text, const std::string& where);

// What a training looks like to a fault.
struct FaultTarget {
  std::int64_t ranks = 1, steps = 0;
  std::int64_t eval_every = 0, checkpoint_every = 0;
  bool is_hccl = true;
};
// bad_input: a rank or a step that is not there, or nothing of the training would meet it.
Result<void> check_rank_fault(const RankFault& fault, const FaultTarget& target,
                              const std::string& where);

std::string_view name(FaultPhase phase);

}  // namespace nb
