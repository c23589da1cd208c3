// HumanEval's grading on a problem of our own, so that no data is needed.

#include "evals/humaneval/evaluator.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "evals/completions.hpp"
#include "evals/evaluate.hpp"
#include "evals/humaneval/program.hpp"

namespace nb {
namespace {

HumanEvalProblem doubling(const std::string& task_id = "Toy/0") {
  HumanEvalProblem problem;
  problem.task_id = task_id;
  problem.prompt =
      "from typing import List\n\n\ndef double(x: int) -> int:\n    \"\"\" Twice x. \"\"\"\n";
  problem.entry_point = "double";
  problem.canonical_solution = "    return 2 * x\n";
  problem.test =
      "def check(candidate):\n    assert candidate(2) == 4\n    assert candidate(0) == 0\n";
  problem.id = task_id == "Toy/0" ? "0000000000000000" : "1111111111111111";
  return problem;
}

class HumanEvalToy : public testing::Test {
 protected:
  void SetUp() override {
    const auto ability = sandbox::probe();
    if (!ability) GTEST_SKIP() << ability.error().message;
    evaluator_ = std::make_unique<HumanEvalEvaluator>(
        "humaneval", std::vector{doubling("Toy/0"), doubling("Toy/1")}, *ability, EvalSettings{});
  }
  ItemRecord grade(const std::vector<std::string>& texts) const {
    const auto record = evaluator_->grade(0, texts);
    EXPECT_TRUE(record) << record.error().message;
    return record.value_or(ItemRecord{});
  }
  std::unique_ptr<HumanEvalEvaluator> evaluator_;
};

TEST_F(HumanEvalToy, MarksAnAnswerInChat) {
  const ItemRecord right = grade({"```python\ndef double(x: List[int]):\n    return x + x\n```"});
  EXPECT_TRUE(right.ok) << right.reason;
  EXPECT_EQ(right.prediction, "passed");
  EXPECT_EQ(right.gold, "passed");
  EXPECT_EQ(right.reason, "");
  // The header is not put before it, so a body alone defines nothing.
  const ItemRecord body = grade({"    return 2 * x"});
  EXPECT_FALSE(body.ok);
  EXPECT_EQ(body.prediction, "failed");
}

TEST_F(HumanEvalToy, SaysWhyAnAnswerIsWrong) {
  EXPECT_EQ(grade({"def double(x): return x"}).reason, "AssertionError");
  EXPECT_EQ(grade({"def triple(x): return x"}).reason, "NameError: name 'double' is not defined");
  const ItemRecord verbose = grade({"raise ValueError('ü' * 1000)"});
  EXPECT_LE(verbose.reason.size(), 90U);
  EXPECT_TRUE(verbose.reason.starts_with("ValueError: üü")) << verbose.reason;
}

TEST_F(HumanEvalToy, GoldPassesAndItsCounterpartFails) {
  for (std::size_t i = 0; i < evaluator_->size(); ++i) {
    const Gold gold = evaluator_->gold(i);
    EXPECT_TRUE(grade({gold.text}).ok);
    EXPECT_FALSE(grade({gold.wrong_text}).ok);
  }
}

TEST_F(HumanEvalToy, KeepsEverySamplesOutcomeForPassAtK) {
  const std::string right = "def double(x): return 2 * x";
  const std::string wrong = "def double(x): return x";
  ItemRecord first = grade({wrong, right, wrong});
  EXPECT_TRUE(first.ok);
  EXPECT_EQ(first.prediction, "passed");
  EXPECT_EQ(first.sample_ok, (std::vector<int>{0, 1, 0}));
  ItemRecord second = grade({wrong, wrong, wrong});
  EXPECT_FALSE(second.ok);
  EXPECT_EQ(second.reason, "AssertionError");
  first.id = evaluator_->item_id(0);
  second.id = evaluator_->item_id(1);
  const std::vector<ItemRecord> items = {first, second};
  const auto metrics = evaluator_->more_metrics(items);
  const auto at_1 = std::ranges::find(metrics, "humaneval/pass@1", &Metric::name);
  ASSERT_NE(at_1, metrics.end());
  EXPECT_DOUBLE_EQ(*at_1->value, 1.0 / 6);
  EXPECT_EQ(std::ranges::find(metrics, "humaneval/pass@10", &Metric::name), metrics.end());
}

TEST_F(HumanEvalToy, CountsAnswersWithoutTheFunction) {
  std::vector<ItemRecord> items(2);
  for (std::size_t i = 0; i < 2; ++i) items[i].id = evaluator_->item_id(i);
  items[0].texts = {"I cannot do that."};
  items[1].texts = {"def double (x): return x"};
  const auto metrics = evaluator_->more_metrics(items);
  ASSERT_EQ(metrics.size(), 1U);
  EXPECT_EQ(metrics[0].name, "humaneval/extraction_failures");
  EXPECT_DOUBLE_EQ(*metrics[0].value, 0.5);
  EXPECT_EQ(metrics[0].direction, Direction::kLower);
}

TEST_F(HumanEvalToy, ReadsStoredCompletionsOfBothForms) {
  const auto stored = parse_completions(
      "{\"task_id\": \"Toy/1\", \"completion\": \"    return 2 * x\"}\n"
      "{\"task_id\": \"Toy/0\", \"solution\": \"def double(x):\\n    return 2 * x\"}\n",
      *evaluator_, {}, "c.jsonl");
  ASSERT_TRUE(stored) << stored.error().message;
  for (const StoredTexts& one : stored->texts)
    EXPECT_TRUE(evaluator_->grade(one.item, one.texts)->ok);
}

TEST_F(HumanEvalToy, SeesWhichFormATextIsIn) {
  const auto form_of = [&](const std::string& text) {
    const ChosenForm of_completion = evaluator_->guess_form({0, text, false});
    // The name of the member that a text stands under says nothing about it.
    EXPECT_EQ(evaluator_->guess_form({0, text, true}).form, of_completion.form) << text;
    return of_completion.form;
  };
  const std::string whole = "import math\n\ndef double(x):\n    return 2 * x\n";
  const std::string body = "    return 2 * x\n";
  EXPECT_EQ(form_of("Sure!\n```python\ndef double(x): return 2 * x\n```\n"), TextForm::kAnswer);
  EXPECT_EQ(form_of(whole), TextForm::kProgram);
  EXPECT_EQ(form_of("\n\n# Twice.\n" + whole), TextForm::kProgram);
  EXPECT_EQ(form_of(body), TextForm::kCompletion);
  EXPECT_EQ(form_of("\n# Twice.\n\treturn 2 * x"), TextForm::kCompletion);
  EXPECT_EQ(form_of(""), TextForm::kCompletion);
  // Llama's tokenizer begins all that it says with a space.
  EXPECT_EQ(form_of(" Sure!\n```python\ndef double(x): return 2 * x\n```\n"), TextForm::kAnswer);
  EXPECT_EQ(form_of(" def double(x):\n    return 2 * x\n"), TextForm::kAnswer);
  // A continuation that goes on to define the function once more, or shows it in a comment's block.
  EXPECT_EQ(form_of(body + "\n" + whole), TextForm::kCompletion);
  EXPECT_EQ(form_of(body + "```\ndef double(x): return 3\n```\n"), TextForm::kCompletion);
}

TEST_F(HumanEvalToy, BodiesUnderSolutionContinueTheirPrompts) {
  // They were taken for programs because of their member's name, and all of them failed.
  const auto stored = parse_completions(
      "{\"task_id\": \"Toy/1\", \"solution\": \"    return 2 * x\"}\n"
      "{\"task_id\": \"Toy/0\", \"solution\": \"def double(x):\\n    return 2 * x\"}\n",
      *evaluator_, {}, "c.jsonl");
  ASSERT_TRUE(stored) << stored.error().message;
  for (const StoredTexts& one : stored->texts)
    EXPECT_TRUE(evaluator_->grade(one.item, one.texts)->ok);
  EXPECT_EQ(stored->why,
            "1 of 2 begin with the function's body (completion); "
            "1 of 2 define the function (program)");
  EXPECT_EQ(stored->form_names(), "completion and program");
}

TEST_F(HumanEvalToy, TheFormOfTextsAndTheSandboxBelongToComparability) {
  const auto answers = evaluator_->comparability();
  EXPECT_EQ(answers.at("humaneval/form"), "answer");
  EXPECT_FALSE(answers.at("humaneval/sandbox").empty());
  const auto programs = evaluator_->form_comparability(TextForm::kProgram);
  EXPECT_EQ(programs.at("humaneval/form"), "program");
  EXPECT_NE(programs.at("humaneval/extraction"), answers.at("humaneval/extraction"));
}

TEST_F(HumanEvalToy, RefusesUnknownAndRepeatedProblems) {
  const auto unknown = parse_completions("{\"task_id\": \"Toy/2\", \"completion\": \"\"}",
                                         *evaluator_, {}, "c.jsonl");
  ASSERT_FALSE(unknown);
  EXPECT_TRUE(unknown.error().message.starts_with("c.jsonl:1: ")) << unknown.error().message;
  const std::string one = "{\"task_id\": \"Toy/0\", \"completion\": \"\"}\n";
  const auto repeated = parse_completions(one + one, *evaluator_, {}, "c.jsonl");
  ASSERT_FALSE(repeated);
  EXPECT_TRUE(repeated.error().message.starts_with("c.jsonl:2: ")) << repeated.error().message;
}

TEST_F(HumanEvalToy, BelievesARightAnswerWhateverItsWords) {
  EXPECT_TRUE(grade({"import sys\nclass Two:\n    def __mul__(self, x): return 2 * x\n"
                     "def double(x): return Two() * x"})
                  .ok);
}

TEST_F(HumanEvalToy, AnObjectEqualToEverythingIsWrong) {
  const ItemRecord record =
      grade({"class Any:\n    def __eq__(self, other): return True\n"
             "def double(x): return Any()"});
  EXPECT_FALSE(record.ok);
  EXPECT_EQ(record.reason, "AssertionError");
}

TEST_F(HumanEvalToy, APatchedLibraryAndAReplacedBuiltinChangeNoMark) {
  for (const char* solution : {"import collections\ndef double(x):\n"
                               "    collections.isinstance = lambda a, b: True\n"
                               "    collections.all = lambda g: True\n"
                               "    return collections.Counter()",
                               "def double(x): return 0\ndef range(*a): return []"}) {
    const ItemRecord record = grade({solution});
    EXPECT_FALSE(record.ok) << solution;
    EXPECT_EQ(record.reason, "AssertionError") << solution;
  }
}

}  // namespace
}  // namespace nb
