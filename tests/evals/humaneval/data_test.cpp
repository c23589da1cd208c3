// HumanEval on its own data: what is known to pass passes, what is known to fail fails.

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>

#include "evals/completions.hpp"
#include "evals/data/manifest.hpp"
#include "evals/evaluate.hpp"
#include "evals/humaneval/evaluator.hpp"
#include "evals/humaneval/program.hpp"
#include "evals/task_registry.hpp"
#include "harness/base/gzip.hpp"
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
struct Graded {
  std::vector<std::string> passed, failed;
};
Graded run(const std::vector<HumanEvalProblem>& list,
           const std::function<std::string(const HumanEvalProblem&)>& text) {
  std::vector<sandbox::Trial> trials;
  for (const HumanEvalProblem& problem : list)
    trials.push_back(humaneval_trial(problem, text(problem)));
  const auto outcomes = sandbox::run_trials(sandbox::probe().value(), trials);
  EXPECT_TRUE(outcomes) << outcomes.error().message;
  Graded graded;
  for (std::size_t i = 0; i < outcomes->size(); ++i) {
    const auto& outcome = (*outcomes)[i];
    if (outcome.outcome == sandbox::Outcome::kPassed)
      graded.passed.push_back(list[i].task_id);
    else
      graded.failed.push_back(list[i].task_id + " " + std::string(name(outcome.outcome)) + " " +
                              outcome.reason);
  }
  return graded;
}

TEST(HumanEval, CanonicalSolutionsPass) {
  NB_NEEDS_DATA();
  NB_NEEDS_SANDBOX();
  const Graded right = run(problems(), [](const HumanEvalProblem& p) {
    return mark_text(HumanEvalText::kContinuation, p.canonical_solution);
  });
  EXPECT_EQ(right.passed.size(), 164U) << testing::PrintToString(right.failed);
}

TEST(HumanEval, EmptyBodiesFail) {
  NB_NEEDS_DATA();
  NB_NEEDS_SANDBOX();
  const Graded graded = run(problems(), [](const HumanEvalProblem&) {
    return mark_text(HumanEvalText::kContinuation, "    pass\n");
  });
  EXPECT_EQ(graded.failed.size(), 164U) << testing::PrintToString(graded.passed);
}

// One text for every problem. In one process with the tests they would pass nearly all of them.
constexpr const char* kLeavesByItsFrames = R"(    return forge()


from collections import _sys


def forge():
    frame = _sys._getframe()
    while frame is not None:
        mine = frame.f_locals
        for name in list(mine):
            if name == "check":
                mine[name] = lambda candidate: None
        frame = frame.f_back
    return 0
)";
constexpr const char* kReadsTheExpectedValues = R"(    import dis, sys
    frame = sys._getframe().f_back
    while frame is not None and frame.f_code.co_name != "check":
        frame = frame.f_back
    found = [] if frame is None else [i.argval for i in dis.get_instructions(frame.f_code)]
    return found[found.index("==") - 1] if "==" in found else None
)";
constexpr const char* kEqualsEverything = R"(    return everything


def method(*arguments):
    return True


def number(*arguments):
    return everything


names = {"__%s__" % name: method for name in ("eq", "lt", "gt", "le", "ge", "bool", "contains")}
names.update({"__%s__" % name: number for name in ("sub", "rsub", "add", "radd", "mul", "abs", "getitem", "call")})
names.update(__hash__=lambda self: 0, __len__=lambda self: 0, __iter__=lambda self: iter(()))
everything = type("Everything", (float,), names)()
)";

TEST(HumanEval, TextsThatSolveNothingPassNothing) {
  NB_NEEDS_DATA();
  NB_NEEDS_SANDBOX();
  std::vector<HumanEvalProblem> some;
  for (std::size_t i = 0; const HumanEvalProblem& problem : problems())
    if (i++ % kEvery == 0) some.push_back(problem);
  for (const char* text : {kLeavesByItsFrames, kReadsTheExpectedValues, kEqualsEverything}) {
    const Graded graded = run(some, [&](const HumanEvalProblem&) {
      return mark_text(HumanEvalText::kContinuation, text);
    });
    EXPECT_EQ(graded.passed, std::vector<std::string>{});
  }
}

TEST(HumanEval, CanonicalSolutionsPassInEveryFormThatTheyAreFoundIn) {
  NB_NEEDS_DATA();
  NB_NEEDS_SANDBOX();
  std::vector<HumanEvalProblem> some;
  for (std::size_t i = 0; const HumanEvalProblem& problem : problems())
    if (i++ % kEvery == 0) some.push_back(problem);
  const HumanEvalEvaluator evaluator("humaneval", some, sandbox::probe().value(), {});
  const auto guessed = [&](const auto& text_of) {
    std::vector<GivenText> given;
    for (std::size_t i = 0; i < evaluator.size(); ++i)
      given.push_back({i, text_of(evaluator.problem(i)), false});
    const TextForm form = evaluator.guess_form(given.front()).form;
    std::size_t right = 0;
    for (const GivenText& one : given) {
      EXPECT_EQ(evaluator.guess_form(one).form, form) << evaluator.public_id(one.item);
      const auto record =
          evaluator.grade(one.item, std::vector{evaluator.stored_text(one.item, form, one.text)});
      right += record && record->ok ? 1 : 0;
      EXPECT_TRUE(record && record->ok) << evaluator.public_id(one.item) << " " << name(form) << " "
                                        << (record ? record->reason : record.error().message);
    }
    EXPECT_EQ(right, given.size());
    return form;
  };
  EXPECT_EQ(guessed([](const HumanEvalProblem& p) {
              return "Sure:\n```python\n" + p.prompt + p.canonical_solution + "\n```\nDone.";
            }),
            TextForm::kAnswer);
  EXPECT_EQ(guessed([](const HumanEvalProblem& p) { return p.canonical_solution; }),
            TextForm::kCompletion);
  // The function alone, which leans on the prompt's imports and helpers.
  EXPECT_EQ(guessed([](const HumanEvalProblem& p) {
              const std::size_t begin = p.prompt.rfind("def " + p.entry_point);
              return p.prompt.substr(begin) + p.canonical_solution;
            }),
            TextForm::kProgram);
}

TEST(HumanEval, CanonicalBodiesUnderSolutionPass) {
  NB_NEEDS_DATA();
  NB_NEEDS_SANDBOX();
  // A file of bodies under "solution" once scored 1 of 164: each was run as a program.
  const auto evaluator = load_humaneval(*find_task("humaneval"), context());
  ASSERT_TRUE(evaluator) << evaluator.error().message;
  const auto& texts = dynamic_cast<const GeneratingEvaluator&>(**evaluator);
  std::string file;
  for (const HumanEvalProblem& problem : problems())
    file +=
        Json{{"task_id", problem.task_id}, {"solution", problem.canonical_solution}}.dump() + "\n";
  const auto stored = parse_completions(file, texts, {}, "bodies");
  ASSERT_TRUE(stored) << stored.error().message;
  EXPECT_EQ(stored->why, "164 of 164 begin with the function's body");
  const auto result = grade_stored(*find_task("humaneval"), texts, stored->texts, context());
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(std::ranges::count_if(result->items, &ItemRecord::ok), 164);
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
      parse_completions(text_of("humaneval/example_samples"), evaluator, {.samples = 6}, "samples");
  ASSERT_TRUE(stored) << stored.error().message;
  const auto record = evaluator.grade(0, stored->texts.front().texts);
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
      parse_completions(*text, dynamic_cast<const GeneratingEvaluator&>(**evaluator), {}, "gpt4");
  ASSERT_TRUE(stored) << stored.error().message;
  const auto result =
      grade_stored(*find_task("humaneval"), dynamic_cast<const GeneratingEvaluator&>(**evaluator),
                   stored->texts, context());
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
