#include "evals/humaneval/program.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "evals/base/text.hpp"
#include "harness/base/check.hpp"

namespace nb {

namespace {

constexpr auto kMarks = std::to_array<std::pair<HumanEvalText, std::string_view>>({
    {HumanEvalText::kAnswer, "<|humaneval_answer|>"},  // only where the answer begins with a mark
    {HumanEvalText::kContinuation, "<|humaneval_continuation|>"},
    {HumanEvalText::kSolution, "<|humaneval_solution|>"},
});
constexpr std::string_view kFence = "```";

struct Marked {
  HumanEvalText kind = HumanEvalText::kAnswer;
  std::string_view text;
  bool has_mark = false;
};

Marked read_mark(std::string_view text) {
  for (const auto& [kind, mark] : kMarks)
    if (text.starts_with(mark)) return {kind, text.substr(mark.size()), true};
  return {HumanEvalText::kAnswer, text};
}

// Content of the first Markdown block, as the reference's regular expression matches it.
std::optional<std::string_view> first_block(std::string_view answer) {
  constexpr std::string_view kLanguage = "python", kEnd = "\n```";
  const std::size_t last_end = answer.rfind(kEnd);
  if (last_end == answer.npos) return std::nullopt;
  for (std::size_t at = answer.find(kFence); at != answer.npos; at = answer.find(kFence, at + 1)) {
    std::size_t begin = at + kFence.size();
    if (answer.substr(begin).starts_with(kLanguage)) begin += kLanguage.size();
    // The white space must hold a line break: the last one first, as a greedy match does.
    const std::size_t space = leading_space(answer.substr(begin));
    std::size_t line = answer.substr(begin, space).rfind('\n');
    while (line != answer.npos) {
      const std::size_t content = begin + line + 1;
      if (content <= last_end) return answer.substr(content, answer.find(kEnd, content) - content);
      line = line == 0 ? answer.npos : answer.substr(begin, line).rfind('\n');
    }
  }
  return std::nullopt;
}

}  // namespace

bool defines(std::string_view code, std::string_view function) {
  const std::string definition = fmt::format("def {}", function);
  for (std::size_t at = code.find(definition); at != code.npos;
       at = code.find(definition, at + 1)) {
    const std::size_t after = code.find_first_not_of(" \t", at + definition.size());
    if (after != code.npos && code[after] == '(') return true;
  }
  return false;
}

std::string_view first_code_line(std::string_view text) {
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end == text.npos ? text.size() : end + 1);
    const std::string_view code = strip(line);
    if (!code.empty() && !code.starts_with('#')) return line;
  }
  return {};
}

std::string mark_text(HumanEvalText kind, std::string text) {
  if (kind == HumanEvalText::kAnswer && !read_mark(text).has_mark) return text;
  const auto* const mark = std::ranges::find(kMarks, kind, &decltype(kMarks)::value_type::first);
  NB_CHECK(mark != kMarks.end(), "[humaneval] a text of no kind");
  return std::string(mark->second) + text;
}

HumanEvalText kind_of(std::string_view marked_text) { return read_mark(marked_text).kind; }

std::string humaneval_program(const HumanEvalProblem& problem, std::string_view marked_text) {
  const auto [kind, text, has_mark] = read_mark(marked_text);
  switch (kind) {
    case HumanEvalText::kAnswer:
      return fmt::format("{}\n\n{}", leading_imports(problem.prompt), extract_code(text));
    case HumanEvalText::kContinuation:
      return fmt::format("{}{}", problem.prompt, text);
    case HumanEvalText::kSolution:
      return std::string(text);
  }
  NB_CHECK(false, "[humaneval] a text of no kind");
}

sandbox::Trial humaneval_trial(const HumanEvalProblem& problem, std::string_view marked_text) {
  sandbox::Trial trial;
  trial.program = humaneval_program(problem, marked_text);
  trial.entry_point = problem.entry_point;
  trial.test = problem.test;
  trial.prompt = problem.prompt;
  if (kind_of(marked_text) == HumanEvalText::kSolution) trial.prelude = problem.prompt;
  return trial;
}

bool has_function(const HumanEvalProblem& problem, std::string_view marked_text) {
  const auto [kind, text, has_mark] = read_mark(marked_text);
  if (kind == HumanEvalText::kContinuation)
    return !strip(text).starts_with(kFence) &&
           text.find(std::string("\n").append(kFence)) == text.npos;
  const std::string_view code = kind == HumanEvalText::kAnswer ? extract_code(text) : text;
  return defines(code, problem.entry_point);
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
  return strip(first_block(answer).value_or(answer));
}

bool has_block(std::string_view answer) { return first_block(answer).has_value(); }

}  // namespace nb
