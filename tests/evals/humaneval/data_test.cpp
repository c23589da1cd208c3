// HumanEval on its own data: what is known to pass passes, what is known to fail fails.

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>

#include "evals/completions.hpp"
#include "evals/data/gzip.hpp"
#include "evals/data/manifest.hpp"
#include "evals/evaluate.hpp"
#include "evals/humaneval/control.hpp"
#include "evals/humaneval/evaluator.hpp"
#include "evals/humaneval/program.hpp"
#include "evals/task_registry.hpp"
#include "model/data/tasks/rows.hpp"
#include "tests/support/data_dir.hpp"

namespace nb {
namespace {

constexpr std::size_t kEvery = 8;  // problems of the slowest test

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

TEST(HumanEval, CanonicalSolutionsPass) {
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
  const auto list = problems();
  std::size_t variants = 0;
  std::size_t failed = 0;
  for (std::size_t i = 0; i < list.size(); i += kEvery) {
    const auto tests = twisted_tests(ability, list[i].test);
    ASSERT_TRUE(tests) << list[i].task_id << " " << tests.error().message;
    std::vector<std::string> programs;
    for (const std::string& test : *tests)
      programs.push_back(humaneval_program(
          list[i], mark_text(HumanEvalText::kContinuation, list[i].canonical_solution), test));
    const auto outcomes = sandbox::run_python(ability, programs);
    ASSERT_TRUE(outcomes) << outcomes.error().message;
    // The last one always fails; without another, only programs that never ask would be found.
    const auto right =
        std::ranges::count(*outcomes, sandbox::Outcome::kFailed, &sandbox::ProgramOutcome::outcome);
    EXPECT_GE(right, 2) << list[i].task_id;
    variants += outcomes->size();
    failed += static_cast<std::size_t>(right);
  }
  EXPECT_GE(10 * failed, 9 * variants) << failed << " of " << variants;
}

TEST(HumanEval, ThreeOfTheSixExampleSamplesPass) {
  NB_NEEDS_DATA();
  NB_NEEDS_SANDBOX();
  const auto text_of = [](const char* name) {
    return read_text_or_gzip(resolve(data_manifest(), name, test::data_dir())->path).value();
  };
  const auto problem = parse_humaneval(text_of("humaneval/example_problem"), "problem");
  ASSERT_TRUE(problem) << problem.error().message;
  const HumanEvalEvaluator evaluator("humaneval", *problem, sandbox::probe().value(), {});
  const auto stored =
      parse_completions(text_of("humaneval/example_samples"), evaluator, 6, "samples");
  ASSERT_TRUE(stored) << stored.error().message;
  const auto record = evaluator.mark(0, stored->front().texts);
  ASSERT_TRUE(record) << record.error().message;
  EXPECT_EQ(record->sample_ok, (std::vector<int>{0, 0, 0, 1, 1, 1}));
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
  std::string wrong_though_labelled_solved;
  const auto use = [&](const Json& row, const std::string&) -> Result<void> {
    const auto item = std::ranges::find_if(result->items, [&](const ItemRecord& record) {
      return (*evaluator)->public_id(static_cast<std::size_t>(&record - result->items.data())) ==
             row.at("task_id");
    });
    if (item->ok != row.at("is_solved").get<bool>())
      wrong_though_labelled_solved += row.at("task_id").get<std::string>() + " " + item->reason;
    return {};
  };
  ASSERT_TRUE(for_each_row(*text, "gpt4", use));
  EXPECT_EQ(wrong_though_labelled_solved, "HumanEval/133 NameError: name 'math' is not defined");
}

}  // namespace
}  // namespace nb
