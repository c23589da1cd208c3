// Aggregates over several tasks (CORE, ChatCORE): every one of them, from the results of one
// evaluation.
#pragma once

#include <span>
#include <vector>

#include "evals/base/eval_result.hpp"
#include "evals/base/eval_settings.hpp"

namespace nb {

std::vector<EvalResult> composites(std::span<const EvalResult> results,
                                   const EvalSettings& settings);

}  // namespace nb
