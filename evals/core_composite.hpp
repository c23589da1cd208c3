// CORE: the plain mean of the 22 centred accuracies, and only that (nanochat.md §6.3). Fewer tasks,
// cut tasks or another HellaSwag make another number, which gets another name and is never paired
// with CORE.
#pragma once

#include <span>
#include <vector>

#include "evals/eval_result.hpp"
#include "evals/eval_settings.hpp"

namespace nb {

// Of the results of one evaluation. Nothing when no task of CORE is among them; else one result:
//   core                          all 22 tasks, all rows
//   core_estimate                 all 22 tasks, max_per_task rows of each (base_train's estimate)
//   core…_with_hellaswag_approx   the same with an approximate HellaSwag
// With tasks missing the value is null and the reason names them.
std::vector<EvalResult> core_composites(std::span<const EvalResult> results,
                                        const EvalSettings& settings);

}  // namespace nb
