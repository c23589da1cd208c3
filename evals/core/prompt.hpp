// An item and its few-shot examples → prompt texts. nanochat's core_eval.py, where the reference
// uses Jinja templates.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "evals/core/task.hpp"

namespace nb {

// Choice tasks: one prompt a choice, in order. Language modelling: two, without and with the
// continuation.
std::vector<std::string> render_prompts(const CoreItem& item,
                                        std::span<const CoreItem* const> examples,
                                        CoreTaskType type, std::string_view delimiter);

}  // namespace nb
