// Tasks in the form of nanochat's and DCLM's core.yaml: a list "icl_tasks" of maps. Text → values;
// whether the rows are there, and what the tasks are called here, is the reader's business
// (bundle.hpp, own_tasks.hpp).
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "harness/base/result.hpp"

namespace nb {

struct YamlTask {
  std::string label;
  std::string dataset_uri;  // of its rows; what it is relative to depends on the reader
  std::string type;         // icl_task_type
  int shots = 0;
  std::string delimiter = " ";
  int line = 0;              // of the file, where the task begins; from 1
  int dataset_uri_line = 0;  // where that value stands
};

// kIgnored: as in the reference, any type too. kRefused: keys and types that npubench does not know
// are errors with the nearest known one, so that nothing that a user wrote is passed over.
enum class UnknownKeys { kIgnored, kRefused };

// Errors name file and line: no YAML, no list "icl_tasks", a key that is missing, doubled or of
// another kind, num_fewshot that is not one number, a label that is there twice.
Result<std::vector<YamlTask>> parse_core_yaml(std::string_view text,
                                              const std::filesystem::path& file,
                                              UnknownKeys unknown);

}  // namespace nb
