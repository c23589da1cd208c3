// One evaluation task as a value: a line of the table in task_registry.cpp, or what was asked for
// by an evaluation's settings.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "harness/base/result.hpp"

namespace nb {

struct CoreTask;  // core/task.hpp
class Evaluator;
struct EvalContext;

inline constexpr std::string_view kLetterTask = "letter";  // the letter of a choice, in chat
inline constexpr std::string_view kGeneratedWorld = "microworld";  // Task::dataset
inline constexpr std::string_view kOwnFiles = "own files";         // Task::dataset
inline constexpr std::string_view kOwnPrefix = "own/";             // of ids of users' own tasks

inline constexpr std::string_view kTextTask = "text";  // answered by a text

struct Task {
  std::string id;         // what suites, records and faults call it
  std::string_view kind;  // CoreTaskType's names, or one of the two above
  // Reads and checks the data; needs no model.
  Result<std::unique_ptr<Evaluator>> (*load)(const Task& task, const EvalContext& context);
  std::string_view dataset;  // name or group in the data manifest, or one of the two above
  std::int64_t rows = 0;     // in the dataset; 0: generated, as many as asked for
  int shots = 0;
  // Of prompts and grading; raised when the same model could score differently.
  std::string_view version;
  // What can stand behind the id and a colon: a part of the items ("mmlu:anatomy") or another way
  // to grade them ("gsm8k:flexible"), a task of its own then. nullptr: nothing can.
  std::vector<std::string_view> (*variants)() = nullptr;
  std::shared_ptr<const CoreTask> core = nullptr;  // of CORE-style tasks
  std::string variant = {};                        // which one this is; empty: the task as it is
};
inline bool is_in_manifest(const Task& task) {
  return task.dataset != kGeneratedWorld && task.dataset != kOwnFiles;
}

}  // namespace nb
