// The texts of items that were scored, found again in the data by what their records keep: a hash
// of the item and one of its prompt. What the data hold now is compared with both.
#pragma once

#include <span>
#include <vector>

#include "evals/base/eval_context.hpp"
#include "evals/base/task.hpp"
#include "harness/base/result.hpp"
#include "results/text/item_text.hpp"

namespace nb {

// One for each name, in their order. context: the settings, world and data that were scored with.
// An item that the data do not hold, or with another prompt, says so (ItemText::warning). Errors:
// the task's data are missing or damaged.
Result<std::vector<ItemText>> item_texts(const Task& task, EvalContext context,
                                         std::span<const ItemName> names);

}  // namespace nb
