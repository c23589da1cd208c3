#include "harness/remote/method.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "evals/core/task.hpp"

namespace nb {
namespace {

// The rungs that a kind of task has, best first.
std::vector<ScoringMethod> rungs_of(const Task& task) {
  if (task.kind == kTextTask) return {ScoringMethod::kGeneration};
  if (task.kind == kLetterTask) return {ScoringMethod::kPromptLogprobs, ScoringMethod::kLetters};
  if (task.kind == name(CoreTaskType::kLanguageModelling))
    return {ScoringMethod::kPromptLogprobs, ScoringMethod::kGreedy};
  return {ScoringMethod::kPromptLogprobs};
}

bool has(const ServerFacts& facts, ScoringMethod method) {
  switch (method) {
    case ScoringMethod::kPromptLogprobs:
      return facts.dialect.has_value();
    case ScoringMethod::kLetters:
      return facts.letters != LetterWay::kNone;
    case ScoringMethod::kGreedy:
    case ScoringMethod::kGeneration:
      return true;
  }
  return false;
}

std::string rungs_left(const ServerFacts& facts) {
  std::string left =
      facts.by_chat ? "generation (texts)" : "greedy (continuations) and generation (texts)";
  if (facts.letters != LetterWay::kNone) left = "letters (chat choices), " + left;
  return left;
}

}  // namespace

std::string_view name(ScoringMethod method) {
  switch (method) {
    case ScoringMethod::kPromptLogprobs:
      return "prompt_logprobs";
    case ScoringMethod::kGreedy:
      return "greedy";
    case ScoringMethod::kLetters:
      return "letters";
    case ScoringMethod::kGeneration:
      return "generation";
  }
  return "";
}

std::vector<std::string> method_names() { return {"auto", "prompt_logprobs", "greedy", "letters"}; }

Result<std::map<std::string, ScoringMethod>> methods_of(std::span<const Task> tasks,
                                                        const ServerFacts& facts,
                                                        const std::string& wanted) {
  std::map<std::string, ScoringMethod> methods;
  std::vector<std::string> unscored, scored;
  bool wants_letters = wanted == name(ScoringMethod::kLetters);
  for (const Task& task : tasks) {
    std::optional<ScoringMethod> found;
    const std::vector<ScoringMethod> rungs = rungs_of(task);
    for (const ScoringMethod method : rungs) {
      const bool is_wanted =
          wanted == "auto" || method == ScoringMethod::kGeneration || wanted == name(method);
      if (!found && is_wanted && has(facts, method)) found = method;
    }
    const bool fits =
        wanted == "auto" || rungs.front() == ScoringMethod::kGeneration ||
        std::ranges::any_of(rungs, [&](ScoringMethod m) { return name(m) == wanted; });
    if (!fits) {
      std::vector<std::string> ways;
      for (const ScoringMethod method : rungs) ways.emplace_back(name(method));
      return bad_input(fmt::format("--method {}: {} is scored by {} only", wanted, task.id,
                                   fmt::join(ways, " or ")));
    }
    if (found) {
      methods[task.id] = *found;
      scored.push_back(task.id);
    } else {
      unscored.push_back(task.id);
      wants_letters = wants_letters || (wanted == "auto" && task.kind == kLetterTask);
    }
  }
  if (unscored.empty()) return methods;
  std::vector<std::string> lacks;
  if (wanted != name(ScoringMethod::kLetters))
    lacks.push_back(
        fmt::format("gives no log-probabilities of a prompt ({})", facts.why_no_scores));
  if (wants_letters)
    lacks.push_back(fmt::format("holds no answer to letters ({})", facts.why_no_letters));
  return run_error(fmt::format(
      "{} {}: {} cannot be scored; left: {}{}", facts.host, fmt::join(lacks, " and "),
      fmt::join(unscored, ", "), rungs_left(facts),
      scored.empty() ? ""
                     : fmt::format(": leave them out and {} can be", fmt::join(scored, ", "))));
}

}  // namespace nb
