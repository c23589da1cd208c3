#include "evals/humaneval/program.hpp"

#include <fmt/core.h>

#include "evals/base/text.hpp"
#include "harness/base/check.hpp"

namespace nb {

namespace {

constexpr std::string_view kContinuationMark = "<|humaneval_continuation|>";
constexpr std::string_view kSolutionMark = "<|humaneval_solution|>";

struct Marked {
  HumanEvalText kind = HumanEvalText::kAnswer;
  std::string_view text;
};

Marked read_mark(std::string_view text) {
  for (const auto& [kind, mark] : {std::pair(HumanEvalText::kContinuation, kContinuationMark),
                                   std::pair(HumanEvalText::kSolution, kSolutionMark)})
    if (text.starts_with(mark)) return {kind, text.substr(mark.size())};
  return {HumanEvalText::kAnswer, text};
}

// Length of the run of white space at the beginning, as Python's \s sees it.
std::size_t leading_space(std::string_view text) {
  const std::string_view rest = strip(text);
  return rest.empty() ? text.size() : static_cast<std::size_t>(rest.data() - text.data());
}

}  // namespace

std::string mark_text(HumanEvalText kind, std::string text) {
  switch (kind) {
    case HumanEvalText::kAnswer:
      return text;
    case HumanEvalText::kContinuation:
      return std::string(kContinuationMark) + text;
    case HumanEvalText::kSolution:
      return std::string(kSolutionMark) + text;
  }
  NB_CHECK(false, "[humaneval] a text of no kind");
}

std::string_view humaneval_code(const HumanEvalProblem& problem, std::string_view marked_text) {
  const auto [kind, text] = read_mark(marked_text);
  std::string_view code = kind == HumanEvalText::kAnswer ? extract_code(text) : text;
  const std::string_view prompt = strip(problem.prompt);
  if (const std::string_view stripped = strip(code); stripped.starts_with(prompt))
    code = stripped.substr(prompt.size());
  return code;
}

std::string humaneval_program(const HumanEvalProblem& problem, std::string_view marked_text,
                              std::string_view test) {
  const auto [kind, text] = read_mark(marked_text);
  const std::string call = fmt::format("check({})", problem.entry_point);
  switch (kind) {
    case HumanEvalText::kAnswer:
      return fmt::format("{}\n\n{}\n\n{}\n{}", leading_imports(problem.prompt), extract_code(text),
                         test, call);
    case HumanEvalText::kContinuation:
      return fmt::format("{}{}\n{}\n{}", problem.prompt, text, test, call);
    case HumanEvalText::kSolution:
      return fmt::format("{}\n{}\n{}", text, test, call);
  }
  NB_CHECK(false, "[humaneval] a text of no kind");
}

std::string leading_imports(std::string_view prompt) {
  std::string imports;
  while (!prompt.empty()) {
    const std::size_t end = prompt.find('\n');
    const std::string_view line = strip(prompt.substr(0, end));
    prompt.remove_prefix(end == prompt.npos ? prompt.size() : end + 1);
    if (line.starts_with("import ") || line.starts_with("from "))
      imports += fmt::format("{}{}", imports.empty() ? "" : "\n", line);
    else if (!line.empty() && !line.starts_with('#'))
      break;
  }
  return imports;
}

std::string_view extract_code(std::string_view answer) {
  constexpr std::string_view kFence = "```", kLanguage = "python", kEnd = "\n```";
  for (std::size_t at = answer.find(kFence); at != answer.npos; at = answer.find(kFence, at + 1)) {
    std::size_t begin = at + kFence.size();
    if (answer.substr(begin).starts_with(kLanguage)) begin += kLanguage.size();
    // The white space must hold a line break: the last one first, as a greedy match does.
    const std::size_t space = leading_space(answer.substr(begin));
    std::size_t line = answer.substr(begin, space).rfind('\n');
    while (line != answer.npos) {
      const std::size_t content = begin + line + 1;
      if (const std::size_t end = answer.find(kEnd, content); end != answer.npos)
        return strip(answer.substr(content, end - content));
      line = line == 0 ? answer.npos : answer.substr(begin, line).rfind('\n');
    }
  }
  return strip(answer);
}

}  // namespace nb
