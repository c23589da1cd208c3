// Texts of a model that somebody else asked: a JSONL file, one completion a line.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "evals/base/evaluator.hpp"
#include "evals/evaluate.hpp"
#include "harness/base/result.hpp"

namespace nb {

struct CompletionsChoice {
  std::int64_t samples = 1;           // texts an item
  std::string member = {};            // of each line, that holds the text
  std::optional<TextForm> form = {};  // of all texts; nothing: as it seems to be
  bool ignore_incomplete = false;
};

struct Completions {
  std::vector<StoredTexts> texts;  // in the order of the items
  std::set<TextForm> forms;        // that texts were read in
  std::string why;                 // "164 of 164 have a Markdown block"; empty: the form was given
  std::int64_t missing = 0;        // items without as many texts as they need, left out

  std::string form_names() const;  // "answer"; "completion and program"
  // What comparability says of their forms (GeneratingEvaluator::form_comparability).
  std::map<std::string, std::string> comparability(const GeneratingEvaluator& evaluator) const;
};

// {"task_id": "HumanEval/0", "completion": "…"} a line; "text" for the text and "id" for the
// item will do, other keys are ignored. The id is the item's public one or its hash; without one,
// "question" or "prompt" names the item by its whole prompt. With `member`, the text stands in the
// object of that name ({"question": …, "6b_finetuning": {"solution": …}}), or is that member.
// Where no form is given, each text is what the evaluator sees in it. A byte order mark, CRLF and
// blank lines are accepted. Every item must be there `samples` times, unless incomplete items are
// ignored. Errors name file and line: no JSON, no id or text, an unknown id, one id too often, a
// form that the task does not have; and how many items lack theirs, with the first.
Result<Completions> parse_completions(std::string_view text, const GeneratingEvaluator& evaluator,
                                      const CompletionsChoice& choice, const std::string& where);
Result<Completions> read_completions(const std::filesystem::path& path,
                                     const GeneratingEvaluator& evaluator,
                                     const CompletionsChoice& choice);

}  // namespace nb
