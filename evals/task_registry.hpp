// The table of all evaluation tasks, read top to bottom in task_registry.cpp. To add one:
// evals/README.md.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "evals/base/eval_settings.hpp"
#include "evals/base/task.hpp"
#include "harness/base/result.hpp"

namespace nb {

std::span<const Task> all_tasks();
const Task* find_task(std::string_view id);  // nullptr: there is none

// A named list of tasks: "core" (the 22, in the order of core.yaml), "core_with_hellaswag_approx"
// (the same with the two HellaSwag places filled by the approximate file), "mw" (the four
// CORE-style tasks of the generated microworld), "mw_chat" (its six tasks in chat), "chat" (those
// of nanochat's chat evaluation), "chat_with_spellingbee".
struct TaskSet {
  std::string_view name;
  std::string_view doc;
  std::vector<std::string_view> tasks;
};
std::span<const TaskSet> task_sets();

// Task ids, their variants ("mmlu:anatomy", "gsm8k:flexible") and set names → tasks in the order
// given, sets opened, doubles dropped. An unknown name is an error with the nearest known one; an
// empty list too.
Result<std::vector<Task>> expand_tasks(std::span<const std::string> names,
                                       const std::string& where);
// All that settings ask for: those of their tasks and of their task files (all of the files', or
// those that the tasks name). Reads the task files, not their rows. More errors: what is wrong with
// the files, a number of examples for a task that takes none.
Result<std::vector<Task>> expand_tasks(const EvalSettings& settings, const std::string& where);

}  // namespace nb
