// The generated programs of mw/humaneval in the sandbox.
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "evals/evaluate.hpp"
#include "evals/humaneval/evaluator.hpp"
#include "evals/humaneval/program.hpp"
#include "evals/task_registry.hpp"
#include "model/data/microworld_chat.hpp"

namespace nb {
namespace {

TEST(MicroworldPrograms, EveryCanonicalProgramPassesItsTests) {
  const auto ability = sandbox::probe();
  if (!ability) GTEST_SKIP() << ability.error().message;
  std::map<std::string, HumanEvalProblem> problems;  // by prompt: splits and seeds share programs
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    MicroworldSettings settings;
    settings.seed = seed;
    for (const WorldSplit split : {WorldSplit::kTrain, WorldSplit::kTest}) {
      const auto items = microworld_items(settings, "mw/humaneval", split, 180);
      ASSERT_TRUE(items);
      for (const WorldItem& item : *items) {
        HumanEvalProblem problem = problem_of(std::get<ProgramItem>(item));
        problems.emplace(problem.prompt, std::move(problem));
      }
    }
  }
  std::vector<sandbox::Trial> trials;
  std::vector<std::string> prompts;
  for (const auto& [prompt, problem] : problems) {
    // As a model answers: the whole function.
    trials.push_back(humaneval_trial(problem, problem.prompt + problem.canonical_solution));
    prompts.push_back(prompt);
  }
  EXPECT_GT(trials.size(), 400U);
  const auto outcomes = sandbox::run_trials(*ability, trials);
  ASSERT_TRUE(outcomes) << outcomes.error().message;
  for (std::size_t i = 0; i < outcomes->size(); ++i)
    EXPECT_EQ((*outcomes)[i].outcome, sandbox::Outcome::kPassed)
        << prompts[i] << (*outcomes)[i].reason;
}

// Each program fails the tests of any other with the same parameters.
TEST(MicroworldPrograms, TestsTellProgramsApart) {
  const auto ability = sandbox::probe();
  if (!ability) GTEST_SKIP() << ability.error().message;
  const auto items = microworld_items({}, "mw/humaneval", WorldSplit::kTest, 40);
  ASSERT_TRUE(items);
  std::vector<sandbox::Trial> trials;
  std::vector<std::string> pairs;
  for (std::size_t i = 0; i < items->size(); ++i) {
    const HumanEvalProblem one = problem_of(std::get<ProgramItem>((*items)[i]));
    const HumanEvalProblem other =
        problem_of(std::get<ProgramItem>((*items)[(i + 15) % items->size()]));
    const auto parameters = [](const HumanEvalProblem& p) {
      return p.prompt.substr(p.prompt.find('('), p.prompt.find(')') - p.prompt.find('('));
    };
    if (parameters(one) != parameters(other)) continue;
    HumanEvalProblem swapped = one;
    swapped.canonical_solution = other.canonical_solution;
    trials.push_back(humaneval_trial(one, swapped.prompt + swapped.canonical_solution));
    pairs.push_back(one.prompt + other.prompt);
  }
  EXPECT_GT(trials.size(), 10U);
  const auto outcomes = sandbox::run_trials(*ability, trials);
  ASSERT_TRUE(outcomes) << outcomes.error().message;
  for (std::size_t i = 0; i < outcomes->size(); ++i)
    EXPECT_EQ((*outcomes)[i].outcome, sandbox::Outcome::kFailed) << pairs[i];
}

TEST(MicroworldPrograms, AreATaskOfTheirOwn) {
  EvalContext context;
  context.microworld.items_per_task = 6;
  const auto loaded = load_evaluator(*find_task("mw/humaneval"), context);
  if (!loaded && loaded.error().code == ErrorCode::kRun) GTEST_SKIP() << loaded.error().message;
  ASSERT_TRUE(loaded) << loaded.error().message;
  EXPECT_EQ((*loaded)->size(), 6U);
  EXPECT_TRUE((*loaded)->comparability().contains("mw/humaneval/sandbox"));
  EvalSettings chat, humaneval;
  chat.tasks = {"mw_chat"};
  humaneval.tasks = {"humaneval"};
  EXPECT_EQ(sandbox_level(chat), sandbox_level(humaneval));
}

}  // namespace
}  // namespace nb
