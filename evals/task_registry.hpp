// The table of all evaluation tasks, read top to bottom in task_registry.cpp. To add one:
// evals/README.md.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "evals/core_task.hpp"
#include "harness/base/result.hpp"

namespace nb {

class Evaluator;
struct EvalContext;

inline constexpr std::string_view kLetterTask = "letter";  // the letter of a choice, in chat
inline constexpr std::string_view kTextTask = "text";      // answered by a text

struct Task {
  std::string_view id;    // what suites, records and faults call it
  std::string_view kind;  // CoreTaskType's names, or one of the two below
  // Reads and checks the data; needs no model.
  Result<std::unique_ptr<Evaluator>> (*load)(const Task& task, const EvalContext& context);
  std::string_view dataset;  // name or group in the data manifest, or "microworld"
  std::int64_t rows = 0;     // in the dataset; 0: generated, as many as asked for
  int shots = 0;
  std::string_view
      version;  // of prompts and marking; raised when the same model could score otherwise
  const CoreTask* core = nullptr;  // CORE-style tasks: their row of core_tasks.hpp
};

std::span<const Task> all_tasks();
const Task* find_task(std::string_view id);  // nullptr: there is none

// A named list of tasks: "core" (the 22, in the order of core.yaml), "core_with_hellaswag_approx"
// (the same with the two HellaSwag places filled by the approximate file), "mw" (the generated
// microworld), "chat" (those of nanochat's chat evaluation), "chat_with_spellingbee".
struct TaskSet {
  std::string_view name;
  std::string_view doc;
  std::vector<std::string_view> tasks;
};
std::span<const TaskSet> task_sets();

// Task ids and set names → tasks in the order given, sets opened, doubles dropped. An unknown name
// is an error with the nearest known one; an empty list too.
Result<std::vector<const Task*>> expand_tasks(std::span<const std::string> names,
                                              const std::string& where);

}  // namespace nb
