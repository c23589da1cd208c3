// HumanEval on its own data: what is known to pass passes, what is known to fail fails.

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>

#include "evals/completions.hpp"
#include "evals/data_manifest.hpp"
#include "evals/gzip.hpp"
#include "evals/humaneval_control.hpp"
#include "evals/humaneval_evaluator.hpp"
#include "evals/humaneval_program.hpp"
#include "tests/support/data_dir.hpp"

namespace nb {
namespace {

// Why no program runs here, or nothing.
std::string no_sandbox() {
  const auto ability = sandbox::probe();
  return ability ? "" : ability.error().message;
}
#define NB_NEEDS_SANDBOX() \
  if (const std::string why = no_sandbox(); !why.empty()) GTEST_SKIP() << why

EvalContext context() {
  EvalContext context;
  context.data_dir = test::data_dir();
  return context;
}

std::vector<HumanEvalProblem> problems() {
  const auto file = resolve(data_manifest(), "humaneval/HumanEval", test::data_dir());
  EXPECT_TRUE(file) << file.error().message;
  return read_humaneval(file->path).value();
}

// Task ids that pass, in file order, and everything that did not with its reason.
struct Marked {
  std::vector<std::string> passed, failed;
};
Marked run(const std::vector<HumanEvalProblem>& list,
           const std::function<std::string(const HumanEvalProblem&)>& program) {
  std::vector<std::string> programs;
  for (const HumanEvalProblem& problem : list) programs.push_back(program(problem));
  const auto outcomes = sandbox::run_python(sandbox::probe().value(), programs);
  EXPECT_TRUE(outcomes) << outcomes.error().message;
  Marked marked;
  for (std::size_t i = 0; i < outcomes->size(); ++i) {
    const auto& outcome = (*outcomes)[i];
    if (outcome.outcome == sandbox::Outcome::kPassed)
      marked.passed.push_back(list[i].task_id);
    else
      marked.failed.push_back(list[i].task_id + " " + std::string(name(outcome.outcome)) + " " +
                              outcome.reason);
  }
  return marked;
}

TEST(HumanEval, CanonicalSolutionsPassAndFailTheControlTest) {
  NB_NEEDS_DATA();
  NB_NEEDS_SANDBOX();
  const auto list = problems();
  const auto with_test = [](const HumanEvalProblem& problem, std::string_view test) {
    return humaneval_program(
        problem, mark_text(HumanEvalText::kContinuation, problem.canonical_solution), test);
  };
  const Marked right = run(list, [&](const auto& p) { return with_test(p, p.test); });
  EXPECT_EQ(right.passed.size(), 164U) << testing::PrintToString(right.failed);
}

TEST(HumanEval, EmptyBodiesFail) {
  NB_NEEDS_DATA();
  NB_NEEDS_SANDBOX();
  const Marked marked = run(problems(), [](const HumanEvalProblem& p) {
    return humaneval_program(p, mark_text(HumanEvalText::kContinuation, "    pass\n"), p.test);
  });
  EXPECT_EQ(marked.failed.size(), 164U) << testing::PrintToString(marked.passed);
}

TEST(HumanEval, ControlTestsFailForCanonicalSolutions) {
  NB_NEEDS_DATA();
  NB_NEEDS_SANDBOX();
  const auto ability = sandbox::probe().value();
  const Marked marked = run(problems(), [&](const HumanEvalProblem& p) {
    return humaneval_program(p, mark_text(HumanEvalText::kContinuation, p.canonical_solution),
                             twisted_test(ability, p.test).value());
  });
  EXPECT_EQ(marked.failed.size(), 164U) << testing::PrintToString(marked.passed);
  for (const std::string& failed : marked.failed)
    EXPECT_NE(failed.find("AssertionError"), failed.npos) << failed;
}

TEST(HumanEval, Gpt4CompletionsPassAsOftenAsTheyDoAlone) {
  NB_NEEDS_DATA();
  NB_NEEDS_SANDBOX();
  const auto file = resolve(data_manifest(), "humaneval/completions_gpt4", test::data_dir());
  ASSERT_TRUE(file) << file.error().message;
  const auto text = read_text_or_gzip(file->path);
  ASSERT_TRUE(text);
  const auto evaluator = load_humaneval(*find_task("humaneval"), context());
  ASSERT_TRUE(evaluator) << evaluator.error().message;
  const auto stored =
      parse_completions(*text, dynamic_cast<const GeneratingEvaluator&>(**evaluator), 1, "gpt4");
  ASSERT_TRUE(stored) << stored.error().message;
  const auto result =
      mark_stored(*find_task("humaneval"), dynamic_cast<const GeneratingEvaluator&>(**evaluator),
                  *stored, context());
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(std::ranges::count_if(result->items, &ItemRecord::ok), 140);
  const auto& humaneval = dynamic_cast<const HumanEvalEvaluator&>(**evaluator);
  std::size_t flagged = 0;
  for (const StoredTexts& one : *stored) flagged += may_forge(humaneval_code(one.texts[0])) ? 1 : 0;
  std::printf("flagged %zu\n", flagged);
  for (std::size_t i = 0; i < result->items.size(); ++i)
    if (!result->items[i].ok)
      std::printf("%s %s %s\n", humaneval.problem((*stored)[i].item).task_id.c_str(),
                  result->items[i].prediction.c_str(), result->items[i].reason.c_str());
}

}  // namespace
}  // namespace nb
