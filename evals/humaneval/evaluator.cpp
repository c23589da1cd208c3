#include "evals/humaneval/evaluator.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "evals/base/eval_metrics.hpp"
#include "evals/data/manifest.hpp"
#include "evals/humaneval/program.hpp"
#include "harness/base/numpy_random.hpp"
#include "model/data/microworld_chat.hpp"
#include "model/data/tasks/conversation.hpp"
#include "results/stats/pass_at_k.hpp"

namespace nb {

namespace {

using sandbox::Outcome;
using sandbox::ProgramOutcome;

constexpr std::uint64_t kShuffleSeed = 42;  // nanochat's tasks/common.py
constexpr std::size_t kTriedOut = 4;        // problems whose solutions must pass before anything
constexpr std::size_t kReasonBytes = 80;

std::vector<HumanEvalProblem> in_order(std::vector<HumanEvalProblem> problems,
                                       std::int64_t max_per_task) {
  std::vector<HumanEvalProblem> kept;
  for (const std::size_t row : NumpyRandom(kShuffleSeed).permutation(problems.size())) {
    if (max_per_task > 0 && std::ssize(kept) == max_per_task) break;
    kept.push_back(std::move(problems[row]));
  }
  return kept;
}

// Whole characters only.
std::string shortened(std::string text) {
  if (text.size() <= kReasonBytes) return text;
  std::size_t end = kReasonBytes;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
  return text.substr(0, end) + "…";
}

std::string canonical_text(const HumanEvalProblem& problem) {
  return mark_text(HumanEvalText::kContinuation, problem.canonical_solution);
}

Result<void> try_out(const std::vector<HumanEvalProblem>& problems,
                     const sandbox::Ability& ability) {
  std::vector<sandbox::Trial> trials;
  for (std::size_t i = 0; i < std::min(kTriedOut, problems.size()); ++i)
    trials.push_back(humaneval_trial(problems[i], canonical_text(problems[i])));
  NB_TRY(const auto outcomes, sandbox::run_trials(ability, trials));
  for (std::size_t i = 0; i < outcomes.size(); ++i)
    if (outcomes[i].outcome != Outcome::kPassed)
      return run_error(
          fmt::format("the canonical solution of {} {} here ({}); is {} ({}) a standard Python?",
                      problems[i].task_id, name(outcomes[i].outcome), outcomes[i].reason,
                      ability.python, ability.python_version));
  return {};
}

// After a few canonical solutions have passed here, where anything is to be graded.
Result<std::unique_ptr<Evaluator>> with_sandbox(const Task& task,
                                                std::vector<HumanEvalProblem> problems,
                                                const EvalContext& context) {
  if (context.only_looked_at)
    return std::make_unique<HumanEvalEvaluator>(task.id, std::move(problems), sandbox::Ability{},
                                                context.settings);
  NB_TRY(sandbox::Ability ability, sandbox::probe());
  NB_TRY_VOID(try_out(problems, ability));
  return std::make_unique<HumanEvalEvaluator>(task.id, std::move(problems), std::move(ability),
                                              context.settings);
}

}  // namespace

Result<std::unique_ptr<Evaluator>> load_humaneval(const Task& task, const EvalContext& context) {
  const std::string id(task.id);
  NB_TRY(const ResolvedFile file, resolve(data_manifest(), task.dataset, context.data_dir), id);
  NB_TRY(std::vector<HumanEvalProblem> problems, read_humaneval(file.path), id);
  NB_TRY(auto evaluator, with_sandbox(task, std::move(problems), context), id);
  return evaluator;
}

Result<std::unique_ptr<Evaluator>> load_microworld_programs(const Task& task,
                                                            const EvalContext& context) {
  const std::string id(task.id);
  NB_TRY(const auto programs, microworld_test_items<ProgramItem>(context.microworld, task.id), id);
  std::vector<HumanEvalProblem> problems;
  for (const ProgramItem& program : programs) problems.push_back(problem_of(program));
  NB_TRY(auto evaluator, with_sandbox(task, std::move(problems), context), id);
  return evaluator;
}

HumanEvalEvaluator::HumanEvalEvaluator(std::string_view task,
                                       std::vector<HumanEvalProblem> problems,
                                       sandbox::Ability ability, const EvalSettings& settings,
                                       const sandbox::Limits& limits)
    : task_(task),
      problems_(in_order(std::move(problems), settings.max_per_task)),
      ability_(std::move(ability)),
      limits_(limits) {}

Gold HumanEvalEvaluator::gold(std::size_t i) const {
  const HumanEvalProblem& problem = problems_[i];
  Gold gold;
  gold.text = fmt::format("```python\n{}{}\n```", problem.prompt, problem.canonical_solution);
  gold.wrong_text = fmt::format("```python\n{}    pass\n```", problem.prompt);
  return gold;
}

ItemText HumanEvalEvaluator::shown_text(std::size_t i) const {
  ItemText text = Evaluator::shown_text(i);
  text.question = problems_[i].prompt;
  text.reference = problems_[i].canonical_solution;
  return text;
}

std::map<std::string, std::string> HumanEvalEvaluator::comparability() const {
  auto facts = form_comparability(TextForm::kAnswer);
  facts[fmt::format("{}/scorer", task_)] = kHumanEvalVersion;
  facts[fmt::format("{}/sandbox", task_)] = sandbox::name(ability_.level);
  return facts;
}

Result<void> HumanEvalEvaluator::check_tokenizer(const Tokenizer& tokenizer) const {
  const Conversation hello{{user_says("x"), assistant_says("")}};
  NB_TRY([[maybe_unused]] const auto ids, render_for_completion(tokenizer, hello));
  return {};
}

Result<GeneratingEvaluator::Prompt> HumanEvalEvaluator::prompt(std::size_t i,
                                                               const Tokenizer& tokenizer,
                                                               std::int64_t max_tokens) const {
  const Conversation conversation{{user_says(problems_[i].prompt), assistant_says("")}};
  Prompt result;
  NB_TRY(result.tokens, render_for_completion(tokenizer, conversation));
  if (std::cmp_less_equal(result.tokens.size(), max_tokens)) return result;
  return bad_input(fmt::format(
      "the prompt has {} tokens, but the model's context leaves room for {}; generate fewer tokens "
      "or leave the task out",
      result.tokens.size(), max_tokens));
}

std::string HumanEvalEvaluator::stored_text(std::size_t, TextForm form, std::string text) const {
  switch (form) {
    case TextForm::kAnswer:
      return mark_text(HumanEvalText::kAnswer, std::move(text));
    case TextForm::kCompletion:
      return mark_text(HumanEvalText::kContinuation, std::move(text));
    case TextForm::kProgram:
      return mark_text(HumanEvalText::kSolution, std::move(text));
  }
  return text;
}

ChosenForm HumanEvalEvaluator::guess_form(const GivenText& text) const {
  const std::string& function = problems_[text.item].entry_point;
  const std::string_view line = first_code_line(text.text);
  const bool is_indented = line.starts_with(' ') || line.starts_with('\t');
  const bool is_function = defines(text.text, function);
  // Some tokenizers put one space before all that a model says.
  const bool is_spaced = line.starts_with(' ') && line.find_first_not_of(' ') == 1;
  if (has_block(text.text) && (!is_indented || is_spaced))
    return {TextForm::kAnswer, "have a Markdown block"};
  if (is_indented && !defines(line, function))
    return {TextForm::kCompletion, "begin with the function's body"};
  // As an answer it is run without the indentation of its first line.
  if (is_function)
    return {is_indented ? TextForm::kAnswer : TextForm::kProgram, "define the function"};
  return {TextForm::kCompletion, "have no Markdown block and do not define the function"};
}

std::map<std::string, std::string> HumanEvalEvaluator::form_comparability(TextForm form) const {
  return {
      {fmt::format("{}/form", task_), std::string(name(form))},
      {fmt::format("{}/extraction", task_),
       form == TextForm::kAnswer ? "first Markdown block, else the whole text" : "the whole text"}};
}

Result<ItemRecord> HumanEvalEvaluator::grade(std::size_t i,
                                             std::span<const std::string> texts) const {
  ItemRecord record;
  record.gold = name(Outcome::kPassed);
  for (const std::string& text : texts) {
    NB_TRY(const ProgramOutcome outcome,
           sandbox::run_trial(ability_, humaneval_trial(problems_[i], text), limits_));
    const bool ok = outcome.outcome == Outcome::kPassed;
    if (record.prediction.empty() || (ok && !record.ok)) {
      record.prediction = name(outcome.outcome);
      record.reason = shortened(outcome.reason);
    }
    record.ok = record.ok || ok;
    if (texts.size() > 1) record.sample_ok.push_back(ok ? 1 : 0);
  }
  return record;
}

std::vector<Metric> HumanEvalEvaluator::more_metrics(std::span<const ItemRecord> items) const {
  std::vector<Metric> metrics;
  const auto n = std::ssize(items);
  const auto samples_of = [](const ItemRecord& item) {
    return std::max<std::int64_t>(1, std::ssize(item.sample_ok));
  };
  std::int64_t fewest = n == 0 ? 0 : samples_of(items.front());
  for (const ItemRecord& item : items) fewest = std::min(fewest, samples_of(item));
  for (const std::int64_t k : {1, 10, 100}) {
    if (fewest < 2 || k > fewest) continue;
    double sum = 0;
    for (const ItemRecord& item : items)
      sum += pass_at_k(samples_of(item), std::ranges::count(item.sample_ok, 1), k);
    metrics.push_back(
        task_metric(task_, fmt::format("pass@{}", k), sum / static_cast<double>(n), n));
  }
  std::map<std::string_view, const HumanEvalProblem*> by_id;
  for (const HumanEvalProblem& problem : problems_) by_id[problem.id] = &problem;
  std::int64_t texts = 0, without = 0;
  for (const ItemRecord& item : items) {
    const HumanEvalProblem& problem = *by_id.at(item.id);
    for (const std::string& text : item.texts) {
      ++texts;
      if (!has_function(problem, text)) ++without;
    }
  }
  if (texts == 0) return metrics;
  Metric none = task_metric(task_, "extraction_failures",
                            static_cast<double>(without) / static_cast<double>(texts), texts);
  none.direction = Direction::kLower;
  metrics.push_back(std::move(none));
  return metrics;
}

}  // namespace nb
