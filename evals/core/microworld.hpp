// The generated tasks mw/…: items of model/data's microworld as CORE rows, for the same three
// loops.
#pragma once

#include "evals/core/evaluator.hpp"
#include "evals/core/task.hpp"
#include "harness/base/result.hpp"
#include "model/data/microworld.hpp"

namespace nb {

bool is_microworld(const CoreTask& task);
// Chance is the generator's own: the mean of 1/choices.
Result<CoreTaskData> microworld_task_data(const CoreTask& task, const MicroworldSettings& settings);

}  // namespace nb
