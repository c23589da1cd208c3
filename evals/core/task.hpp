// One CORE-style task as a value: which items, how they become prompts, what chance is. The table
// of all tasks is task_registry.hpp. nanochat's core_eval.py.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace nb {

enum class CoreTaskType { kMultipleChoice, kSchema, kLanguageModelling };
std::string_view name(
    CoreTaskType type);  // "multiple_choice", "schema", "language_modeling" (the bundle's words)

struct CoreTask {
  std::string id;  // what suites, records and faults call it
  CoreTaskType type = CoreTaskType::kMultipleChoice;
  std::string dataset;  // name in the data manifest, or "microworld/<kind>"
  int shots = 0;
  std::string delimiter = " ";  // between query and answer
  double baseline_v1 = 0;       // accuracy of guessing, percent: nanochat's table
  double baseline_v2 = 0;       // percent: DCLM's later table
  std::int64_t rows = 0;        // in the dataset; 0: generated, as many as asked for
  std::string core_label;       // which of CORE's 22 places it fills; empty: none
  bool is_approximate = false;  // not the bundle's own file
};

// One row of a task. Which members are set depends on the task's type.
struct CoreItem {
  std::string id;                    // 16 hex digits of a hash of the content (items.hpp)
  std::string query;                 // multiple choice: query; language modelling: context
  std::vector<std::string> choices;  // multiple choice: choices; schema: context_options
  std::string continuation;          // schema and language modelling
  int gold = 0;                      // multiple choice and schema: index into choices
};

}  // namespace nb
