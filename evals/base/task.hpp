// One evaluation task as a value: a line of the table in task_registry.cpp, or what was asked for
// by an evaluation's settings.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "harness/base/result.hpp"

namespace nb {

struct CoreTask;  // core/task.hpp
class Evaluator;
struct EvalContext;

inline constexpr std::string_view kLetterTask = "letter";  // the letter of a choice, in chat
inline constexpr std::string_view kTextTask = "text";      // answered by a text

struct Task {
  std::string id;         // what suites, records and faults call it
  std::string_view kind;  // CoreTaskType's names, or one of the two above
  // Reads and checks the data; needs no model.
  Result<std::unique_ptr<Evaluator>> (*load)(const Task& task, const EvalContext& context);
  std::string_view dataset;  // name or group in the data manifest, or "microworld"
  std::int64_t rows = 0;     // in the dataset; 0: generated, as many as asked for
  int shots = 0;
  // Of prompts and marking; raised when the same model could score otherwise.
  std::string_view version;
  std::shared_ptr<const CoreTask> core = nullptr;  // of CORE-style tasks
};

}  // namespace nb
