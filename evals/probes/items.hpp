// What the probes share: an answer beside the right one as an item, items as a result.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "evals/probes/probes.hpp"

namespace nb {

std::string probe_task(std::string_view name);  // "probe/choice_tie"
// 16 hex digits that name an item by what is asked.
std::string probe_item_id(std::string_view name, std::string_view asked);

// Right where both texts are equal.
ItemRecord probe_item(std::string_view name, std::string_view asked, std::string right,
                      std::string got);
// Accuracy over the items; comparable with results of the same items and right answers only.
EvalResult probe_result(std::string_view name, std::vector<ItemRecord> items);

// The probes, by what they look at.
Result<EvalResult> probe_choice_tie(const ProbedModels& models);
Result<EvalResult> probe_letter_tie(const ProbedModels& models);
Result<EvalResult> probe_cut_prompt(const ProbedModels& models);
Result<EvalResult> probe_cut_chat(const ProbedModels& models);
Result<EvalResult> probe_last_number(const ProbedModels& models);
Result<EvalResult> probe_two_markers(const ProbedModels& models);
Result<EvalResult> probe_program_imports(const ProbedModels& models);
Result<EvalResult> probe_merge_rank(const ProbedModels& models);
Result<EvalResult> probe_logit_tie(const ProbedModels& models);
Result<EvalResult> probe_long_cache(const ProbedModels& models);

}  // namespace nb
