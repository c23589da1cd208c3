// Texts of a model that somebody else asked: a JSONL file, one completion a line.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "evals/base/evaluator.hpp"
#include "evals/evaluate.hpp"
#include "harness/base/result.hpp"

namespace nb {

// {"task_id": "HumanEval/0", "completion": "…"} a line; "text" for the text and "id" for the
// item will do, other keys are ignored. "solution" in place of "completion" is text that does not
// continue the prompt (Evaluator::stored_solution). The id is the item's public one or its hash;
// without one, "question" or "prompt" names the item by its whole prompt. With `member`, the text
// stands in the object of that name ({"question": …, "6b_finetuning": {"solution": …}}), or is that
// member. A byte order mark, CRLF and blank lines are accepted. Every item must be there `samples`
// times, in the order of the items afterwards. Errors name file and line: no JSON, no id or text,
// an unknown id, one id too often; and how many items lack theirs, with the first.
Result<std::vector<StoredTexts>> parse_completions(std::string_view text,
                                                   const GeneratingEvaluator& evaluator,
                                                   std::int64_t samples, const std::string& where,
                                                   const std::string& member = "");
Result<std::vector<StoredTexts>> read_completions(const std::filesystem::path& path,
                                                  const GeneratingEvaluator& evaluator,
                                                  std::int64_t samples,
                                                  const std::string& member = "");

}  // namespace nb
