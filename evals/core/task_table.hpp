// The table of CORE-style tasks: CORE's 22, the two approximations of HellaSwag, the generated
// microworld.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "evals/core/task.hpp"

namespace nb {

std::span<const CoreTask> core_tasks();
const CoreTask* find_core_task(std::string_view id);  // nullptr: there is none
std::vector<std::string_view> core_labels();          // CORE's 22 places, in order

}  // namespace nb
