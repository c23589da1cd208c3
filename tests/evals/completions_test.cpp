#include "evals/completions.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "evals/evaluate.hpp"
#include "evals/task_registry.hpp"
#include "tests/evals/support/echo_evaluator.hpp"

namespace nb {
namespace {

Result<Completions> parse(const std::string& text, std::int64_t samples = 1) {
  return parse_completions(text, test::EchoEvaluator({"one", "two"}), {.samples = samples},
                           "f.jsonl");
}
std::string error_of(const std::string& text, std::int64_t samples = 1) {
  const auto stored = parse(text, samples);
  return stored ? "parsed" : stored.error().message;
}

TEST(Completions, AreSortedByItemWhateverTheirOrder) {
  const auto stored = parse(
      "\xef\xbb\xbf{\"task_id\": \"Echo/1\", \"completion\": \"two\"}\r\n\n"
      "{\"id\": \"Echo/0\", \"text\": \"no\", \"other\": 3}\n");
  ASSERT_TRUE(stored.has_value()) << stored.error().message;
  ASSERT_EQ(stored->texts.size(), 2u);
  EXPECT_EQ(stored->texts.at(0).texts, std::vector<std::string>{"no"});
  EXPECT_EQ(stored->texts.at(1).texts, std::vector<std::string>{"two"});
}

TEST(Completions, AreMarkedAsTheModelsWouldBe) {
  const test::EchoEvaluator evaluator({"one", "two"});
  const auto stored = parse(
      "{\"task_id\": \"Echo/0\", \"completion\": \"one\"}\n"
      "{\"task_id\": \"Echo/1\", \"completion\": \"three\"}\n");
  ASSERT_TRUE(stored.has_value()) << stored.error().message;
  Task task;
  task.id = "echo";
  const auto result = grade_stored(task, evaluator, stored->texts, {});
  ASSERT_TRUE(result.has_value()) << result.error().message;
  EXPECT_EQ(*result->metrics.at(0).value, 0.5);
  EXPECT_EQ(result->items.at(1).prediction, "three");
  EXPECT_EQ(result->items.at(1).texts, std::vector<std::string>{"three"});
  EXPECT_EQ(result->comparability.at("echo/generation"), "stored texts");
}

// An evaluator to which a completion is no whole solution.
struct TellingEvaluator : test::EchoEvaluator {
  using EchoEvaluator::EchoEvaluator;
  std::string stored_text(std::size_t, TextForm form, std::string text) const override {
    return std::string(name(form)) + " " + text;
  }
};

TEST(Completions, ACompletionComesBeforeASolution) {
  const TellingEvaluator evaluator({"one", "two", "three"});
  const auto stored = parse_completions(
      "{\"task_id\": \"Echo/0\", \"solution\": \"b\", \"completion\": \"a\"}\n"
      "{\"task_id\": \"Echo/1\", \"solution\": \"b\", \"text\": \"c\"}\n"
      "{\"task_id\": \"Echo/2\", \"text\": \"c\"}\n",
      evaluator, {}, "f.jsonl");
  ASSERT_TRUE(stored.has_value()) << stored.error().message;
  EXPECT_EQ(stored->texts.at(0).texts.at(0), "answer a");
  EXPECT_EQ(stored->texts.at(1).texts.at(0), "program b");
  EXPECT_EQ(stored->texts.at(2).texts.at(0), "answer c");
}

TEST(Completions, AFormThatIsGivenCountsForAllTexts) {
  const TellingEvaluator evaluator({"one", "two"});
  const auto given = parse_completions(
      "{\"task_id\": \"Echo/0\", \"solution\": \"b\"}\n"
      "{\"task_id\": \"Echo/1\", \"completion\": \"c\"}\n",
      evaluator, {.form = TextForm::kCompletion}, "f.jsonl");
  ASSERT_TRUE(given.has_value()) << given.error().message;
  EXPECT_EQ(given->texts.at(0).texts.at(0), "completion b");
  EXPECT_EQ(given->texts.at(1).texts.at(0), "completion c");
  EXPECT_EQ(given->form_names(), "completion");
  EXPECT_EQ(given->why, "");
}

TEST(Completions, ItemsWithoutThemAreLeftOutWhereThatIsAskedFor) {
  const test::EchoEvaluator evaluator({"one", "two", "three"});
  const std::string some =
      "{\"task_id\": \"Echo/0\", \"completion\": \"one\"}\n"
      "{\"task_id\": \"Echo/2\", \"completion\": \"no\"}\n";
  const auto given = parse_completions(some, evaluator, {.ignore_incomplete = true}, "f.jsonl");
  ASSERT_TRUE(given.has_value()) << given.error().message;
  EXPECT_EQ(given->missing, 1);
  ASSERT_EQ(given->texts.size(), 2U);
  EXPECT_EQ(given->texts[1].item, 2U);
  Task task;
  task.id = "echo";
  const auto some_result =
      grade_stored(task, evaluator, given->texts, {}, ItemsWithoutTexts::kLeftOut);
  ASSERT_TRUE(some_result.has_value()) << some_result.error().message;
  EXPECT_TRUE(some_result->is_complete());
  EXPECT_EQ(*some_result->metrics.at(0).value, 0.5);
  const auto left_out = std::ranges::find(some_result->metrics, "echo/left_out", &Metric::name);
  ASSERT_NE(left_out, some_result->metrics.end());
  EXPECT_EQ(left_out->value, 1);
  EXPECT_EQ(left_out->n, 3);
  // Beside a result of all items it would say something else.
  std::vector<StoredTexts> all = given->texts;
  all.push_back({1, {"two"}});
  const auto whole = grade_stored(task, evaluator, all, {});
  EXPECT_NE(whole->comparability.at("echo/items"), some_result->comparability.at("echo/items"));
  // One sample of two is not enough either.
  const auto short_of =
      parse_completions(some, evaluator, {.samples = 2, .ignore_incomplete = true}, "f.jsonl");
  ASSERT_FALSE(short_of);
  EXPECT_EQ(short_of.error().message,
            "f.jsonl: no item has its completions, so nothing can be scored");
}

TEST(Completions, SeveralSamplesAreTakenWhereTheyWereAnnounced) {
  const std::string twice =
      "{\"task_id\": \"Echo/0\", \"completion\": \"a\"}\n"
      "{\"task_id\": \"Echo/1\", \"completion\": \"b\"}\n"
      "{\"task_id\": \"Echo/1\", \"completion\": \"c\"}\n"
      "{\"task_id\": \"Echo/0\", \"completion\": \"d\"}\n";
  const auto stored = parse(twice, 2);
  ASSERT_TRUE(stored.has_value()) << stored.error().message;
  EXPECT_EQ(stored->texts.at(1).texts, (std::vector<std::string>{"b", "c"}));
  EXPECT_EQ(error_of(twice),
            "f.jsonl:3: \"Echo/1\" appears 2 times; for several completions per item, give "
            "--samples");
}

TEST(Completions, ErrorsNameFileAndLine) {
  const std::string good = "{\"task_id\": \"Echo/0\", \"completion\": \"one\"}\n";
  EXPECT_EQ(error_of(good),
            "f.jsonl: 1 of 2 items lack completions; for example, \"Echo/1\" has 0 of 1; every "
            "item needs one");
  EXPECT_EQ(error_of(good + "{\"task_id\": \"Ecko/1\", \"completion\": \"\"}\n"),
            "f.jsonl:2: there is no item \"Ecko/1\"; did you mean \"Echo/1\"?");
  EXPECT_EQ(error_of(good + "{\"task_id\": \"quite another\", \"completion\": \"\"}\n"),
            "f.jsonl:2: there is no item \"quite another\"; the first is \"Echo/0\"");
  EXPECT_EQ(error_of(good + "{\"completion\": \"\"}\n"),
            "f.jsonl:2: \"task_id\" is missing; a line has {\"task_id\": …, \"completion\": …}");
  EXPECT_EQ(error_of(good + "{\"task_id\": \"Echo/1\", \"completion\": 3}\n"),
            "f.jsonl:2: \"completion\" must be a string, got number");
  EXPECT_TRUE(error_of(good + "{\"task_id\": \n").starts_with("f.jsonl:2:"));
  EXPECT_EQ(error_of(good + "[1]\n"), "f.jsonl:2: expected an object, got array");
  EXPECT_EQ(error_of("{\"task_id\": \"Echo/0\", \"completion\": \"\xff\"}\n"),
            "f.jsonl:1: byte 38 of the line (0xff) is not valid UTF-8; save the file as UTF-8");
}

}  // namespace
}  // namespace nb
