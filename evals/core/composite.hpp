// CORE: the plain mean of the 22 centred accuracies, and only that (nanochat's base_eval.py). Fewer
// tasks, cut tasks or another HellaSwag make another number, which gets another name and is never
// paired with CORE.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "evals/base/eval_result.hpp"
#include "evals/base/eval_settings.hpp"

namespace nb {

// CORE of the accuracies of all 22 places (by label), with baselines "v1" or "v2"; nothing when one
// is missing.
std::optional<double> core_of(const std::map<std::string, double>& accuracies,
                              std::string_view baselines);

// Of the results of one evaluation. Nothing when no task of CORE is among them; else one result:
//   core                          all 22 tasks, all rows
//   core_estimate                 all 22 tasks, max_per_task rows of each (base_train's estimate)
//   core…_with_5_shots            num_fewshot in place of the tasks' own numbers of examples
//   core…_with_hellaswag_approx   the same with an approximate HellaSwag
// With tasks missing the value is null and the reason names them. A second metric, "<name>_v2" (or
// _v1), is the same with the other baselines; it has no direction, so nothing judges it.
std::vector<EvalResult> core_composites(std::span<const EvalResult> results,
                                        const EvalSettings& settings);

}  // namespace nb
