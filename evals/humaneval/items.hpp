// HumanEval's problems, read and checked.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "harness/base/result.hpp"
#include "model/data/microworld_chat.hpp"

namespace nb {

struct HumanEvalProblem {
  std::string id;       // 16 hex digits of a hash of item_bytes
  std::string task_id;  // "HumanEval/0"
  std::string prompt;   // imports, helpers, function header and docstring
  std::string entry_point;
  std::string canonical_solution;  // continues the prompt
  std::string test;                // defines check(candidate)
};

// One JSON object per line, plain or gzip; other keys are ignored. Errors name file and line;
// doubled task ids and an entry point that is no identifier are errors, no problems too. A byte
// order mark, CRLF and blank lines are accepted.
Result<std::vector<HumanEvalProblem>> parse_humaneval(std::string_view text,
                                                      const std::string& where);
Result<std::vector<HumanEvalProblem>> read_humaneval(const std::filesystem::path& path);

// A generated problem.
HumanEvalProblem problem_of(const ProgramItem& program);

// Netstrings ("<length>:<bytes>") of all fields but the id, in their order.
std::string item_bytes(const HumanEvalProblem& problem);

}  // namespace nb
