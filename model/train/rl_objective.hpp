// What RL's settings say about its objective. Pure functions.
#pragma once

#include "harness/base/result.hpp"
#include "model/ops/objectives.hpp"
#include "model/train/chat_settings.hpp"

namespace nb {

// bad_input: a reference that is needed and not there; a limit, weight or number of updates that
// the objective would not read.
Result<void> check_objective(const RlSettings& settings);

// Of an objective with a ratio.
// Whether passes count by their tokens (RlSettings::pass_weights).
bool weighs_by_tokens(const RlSettings& settings);
ops::PolicyOptions policy_options(const RlSettings& settings);

}  // namespace nb
