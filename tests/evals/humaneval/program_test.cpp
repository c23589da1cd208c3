#include "evals/humaneval/program.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "evals/data/manifest.hpp"
#include "evals/humaneval/evaluator.hpp"
#include "harness/base/hash.hpp"
#include "harness/base/json_io.hpp"
#include "harness/base/numpy_random.hpp"
#include "results/stats/pass_at_k.hpp"
#include "tests/support/data_dir.hpp"

namespace nb {
namespace {

const Json& golden() {
  static const Json json = read_json(NB_SOURCE_DIR "/tests/golden/humaneval.json").value();
  return json;
}

TEST(HumanEvalProgram, TakesCodeOutOfAnswersAsTheReferenceDoes) {
  for (const Json& one : golden().at("answers"))
    EXPECT_EQ(extract_code(one[0].get<std::string>()), one[1].get<std::string>()) << one[0];
}

TEST(HumanEvalProgram, TakesImportsOutOfPromptsAsTheReferenceDoes) {
  for (const Json& one : golden().at("prompts"))
    EXPECT_EQ(leading_imports(one[0].get<std::string>()), one[1].get<std::string>()) << one[0];
}

TEST(HumanEvalProgram, IsTheReferencesForEveryProblemInItsOrder) {
  NB_NEEDS_DATA();
  const auto file = resolve(data_manifest(), "humaneval/HumanEval", test::data_dir());
  ASSERT_TRUE(file) << file.error().message;
  const auto problems = read_humaneval(file->path);
  ASSERT_TRUE(problems) << problems.error().message;
  const Json& programs = golden().at("programs");
  const auto order = NumpyRandom(42).permutation(problems->size());
  ASSERT_EQ(programs.size(), order.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    const HumanEvalProblem& problem = (*problems)[order[i]];
    EXPECT_EQ(problem.task_id, programs[i][0]);
    const std::string answer =
        "Sure!\n```python\n" + problem.prompt + problem.canonical_solution + "\n```\nThat is it.";
    EXPECT_EQ(sha256_hex(humaneval_program(problem, answer) + "\n\n" + problem.test + "\ncheck(" +
                         problem.entry_point + ")"),
              programs[i][1].get<std::string>())
        << problem.task_id;
  }
}

TEST(HumanEvalProgram, ContinuesThePromptAsHumanEvalDoes) {
  const HumanEvalProblem problem{"", "T/0", "def f():\n", "f", "", "test"};
  const std::string text = mark_text(HumanEvalText::kContinuation, "    return ```1\n```");
  EXPECT_EQ(humaneval_program(problem, text), "def f():\n    return ```1\n```");
}

TEST(HumanEvalProgram, RunsASolutionAfterThePrompt) {
  const HumanEvalProblem problem{"", "T/0", "import x\n", "f", "", "test"};
  const sandbox::Trial trial =
      humaneval_trial(problem, mark_text(HumanEvalText::kSolution, " def f(): 1 "));
  EXPECT_EQ(trial.prelude, "import x\n");
  EXPECT_EQ(trial.program, " def f(): 1 ");
  EXPECT_EQ(humaneval_trial(problem, "def f(): 1").prelude, "");
}

TEST(HumanEvalProgram, AnAnswerThatBeginsLikeAMarkIsAnAnswer) {
  for (const HumanEvalText kind :
       {HumanEvalText::kAnswer, HumanEvalText::kContinuation, HumanEvalText::kSolution}) {
    const std::string said = mark_text(kind, mark_text(HumanEvalText::kSolution, "pass"));
    EXPECT_EQ(kind_of(said), kind);
  }
  EXPECT_EQ(mark_text(HumanEvalText::kAnswer, "pass"), "pass");
}

TEST(HumanEvalProgram, TheTestIsNoPartOfTheProgram) {
  const HumanEvalProblem problem{"", "T/0", "import x\n", "f", "", "def check(c): pass"};
  for (const auto form :
       {HumanEvalText::kAnswer, HumanEvalText::kContinuation, HumanEvalText::kSolution}) {
    const sandbox::Trial trial = humaneval_trial(problem, mark_text(form, "def f(): 1"));
    EXPECT_EQ((trial.prelude + trial.program).find("check"), std::string::npos);
    EXPECT_EQ(trial.test, problem.test);
  }
}

TEST(HumanEvalProgram, KnowsWhetherATextHoldsTheFunction) {
  const HumanEvalProblem problem{"", "T/0", "def f():\n", "f", "", "test"};
  const auto has = [&](HumanEvalText form, const std::string& text) {
    return has_function(problem, mark_text(form, text));
  };
  EXPECT_TRUE(has(HumanEvalText::kAnswer, "Sure:\n```python\ndef f (): 1\n```"));
  EXPECT_FALSE(has(HumanEvalText::kAnswer, "    return 1"));
  EXPECT_TRUE(has(HumanEvalText::kContinuation, "    return 1"));
  EXPECT_FALSE(has(HumanEvalText::kContinuation, "```python\ndef f(): 1\n```"));
  EXPECT_FALSE(has(HumanEvalText::kContinuation, "Sure:\n```python\ndef f(): 1\n```"));
  EXPECT_TRUE(has(HumanEvalText::kSolution, "def f(): 1"));
  EXPECT_FALSE(has(HumanEvalText::kSolution, "def ff(): 1"));
}

TEST(PassAtK, EqualsTheExactFractions) {
  for (const Json& one : golden().at("pass_at_k"))
    EXPECT_NEAR(pass_at_k(one[0], one[1], one[2]), one[3].get<double>(), 1e-12) << one;
}

}  // namespace
}  // namespace nb
