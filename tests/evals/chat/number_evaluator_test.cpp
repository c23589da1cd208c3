#include "evals/chat/number_evaluator.hpp"

#include <gtest/gtest.h>

#include "evals/chat/prompt.hpp"
#include "evals/completions.hpp"
#include "evals/evaluate.hpp"
#include "evals/models/built_in_models.hpp"
#include "evals/task_registry.hpp"
#include "tests/support/chat_tokenizer.hpp"

namespace nb {
namespace {

std::vector<NumberItem> toy_number_items(int count) {
  std::vector<NumberItem> items;
  for (int i = 0; i < count; ++i) {
    const std::string n = std::to_string(i);
    items.push_back({"id" + n, "row " + n, "bytes" + n, "How much is " + n + "?", "so\n#### " + n});
  }
  return items;
}

ItemRecord graded(const std::vector<std::string>& texts, const EvalContext& context = {}) {
  const NumberEvaluator evaluator("toy", "as they come", toy_number_items(19), context);
  auto record = evaluator.grade(18, texts);
  EXPECT_TRUE(record.has_value()) << record.error().message;
  return *record;
}

TEST(NumberEvaluator, MarksTheNumberBehindTheMarker) {
  const auto right =
      graded({"a <|python_start|>9*2<|python_end|><|output_start|>18<|output_end|>"
              "\n#### 18"});
  EXPECT_TRUE(right.ok);
  EXPECT_EQ(right.prediction, "18");
  EXPECT_EQ(right.gold, "18");
  EXPECT_EQ(right.reason, "");
  EXPECT_TRUE(right.sample_ok.empty());
  const auto wrong = graded({"#### 18.0"});
  EXPECT_FALSE(wrong.ok);
  EXPECT_EQ(wrong.prediction, "18.0");
  EXPECT_EQ(wrong.reason, "");
}

TEST(NumberEvaluator, NamesWhatHasNoAnswer) {
  const auto none = graded({"18"});
  EXPECT_FALSE(none.ok);
  EXPECT_EQ(none.prediction, "");
  EXPECT_EQ(none.reason, "no answer");
}

TEST(NumberEvaluator, OneRightSampleIsEnough) {
  const auto record = graded({"no", "#### 5", "#### 18"});
  EXPECT_TRUE(record.ok);
  EXPECT_EQ(record.sample_ok, (std::vector<int>{0, 0, 1}));
  EXPECT_EQ(record.reason, "");
  EXPECT_FALSE(graded({"#### 1", "#### 2"}).ok);
}

TEST(NumberEvaluator, LongAnswersAreShownShortAndComparedWhole) {
  const auto record = graded({"#### " + std::string(500, '1')});
  EXPECT_EQ(record.prediction.size(), 40u);
  EXPECT_FALSE(record.ok);
}

TEST(NumberEvaluator, FaultCountsARightAnswerAsWrong) {
  EvalContext faulty;
  faulty.fault = [](std::string_view) { return ScorerFault::kSecondBest; };
  EXPECT_FALSE(graded({"#### 18"}, faulty).ok);
}

TEST(NumberEvaluator, CountsTextsWithoutAnAnswer) {
  const EvalContext context;
  const NumberEvaluator evaluator("toy", "as they come", toy_number_items(2), context);
  std::vector<ItemRecord> items(2);
  items[0].texts = {"#### 0", "no"};
  items[1].texts = {"none", "neither"};
  const auto metrics = evaluator.more_metrics(items);
  ASSERT_EQ(metrics.size(), 1u);
  EXPECT_EQ(metrics[0].name, "toy/extraction_failures");
  EXPECT_EQ(metrics[0].value, 0.75);
  EXPECT_EQ(metrics[0].n, 4);
  EXPECT_EQ(metrics[0].direction, Direction::kLower);
}

TEST(NumberEvaluator, PromptIsTheQuestionAsTheUser) {
  const EvalContext context;
  const NumberEvaluator evaluator("toy", "as they come", toy_number_items(1), context);
  const Tokenizer& tokenizer = test::byte_tokenizer();
  const auto prompt = evaluator.prompt(0, tokenizer, 1000);
  ASSERT_TRUE(prompt.has_value()) << prompt.error().message;
  EXPECT_EQ(tokenizer.decode(prompt->tokens),
            "<|bos|><|user_start|>How much is 0?<|user_end|><|assistant_start|>");
  EXPECT_EQ(prompt->cut_tokens, 0);
  const auto cut = evaluator.prompt(0, tokenizer, 10);
  EXPECT_EQ(tokenizer.decode(cut->tokens), "<|bos|><|user_start|>How muc<|assistant_start|>");
  EXPECT_EQ(cut->cut_tokens, 8);
  EXPECT_FALSE(evaluator.prompt(0, tokenizer, -5).has_value());
}

TEST(NumberEvaluator, StoredSolutionsMayEndInAPlainAnswer) {
  const EvalContext context;
  const NumberEvaluator evaluator("toy", "as they come", toy_number_items(1), context);
  EXPECT_EQ(evaluator.stored_text(0, TextForm::kCompletion, "x\nA: 0"), "x\n#### 0");
}

TEST(Completions, MayNameTheirItemByItsQuestionAndShareAFile) {
  const EvalContext context;
  const NumberEvaluator evaluator("toy", "as they come", toy_number_items(2), context);
  const std::string file =
      R"({"question": "How much is 1?", "a": {"solution": "A: 1"}, "b": "#### 5"})"
      "\n"
      R"({"question": "How much is 0?", "a": {"completion": "0"}, "b": "#### 0"})"
      "\n";
  const auto a = parse_completions(file, evaluator, {.member = "a"}, "f.jsonl");
  ASSERT_TRUE(a.has_value()) << a.error().message;
  EXPECT_EQ(a->texts[0].texts, std::vector<std::string>{"0"});
  EXPECT_EQ(a->texts[1].texts, std::vector<std::string>{"#### 1"});
  const auto b = parse_completions(file, evaluator, {.member = "b"}, "f.jsonl");
  ASSERT_TRUE(b.has_value()) << b.error().message;
  EXPECT_EQ(b->texts[1].texts, std::vector<std::string>{"#### 5"});
  const auto error = [&](const std::string& text, const std::string& member) {
    return parse_completions(text, evaluator, {.member = member}, "f.jsonl").error().message;
  };
  EXPECT_EQ(error(file, "c"), "f.jsonl:1: \"c\" is missing");
  EXPECT_EQ(error(R"({"question": "How much is 2?", "text": "2"})", ""),
            "f.jsonl:1: no item has this question");
  EXPECT_EQ(error(R"({"question": "How much is 0?", "a": 5})", "a"),
            "f.jsonl:1: a: expected an object or a string, got number");
}

// The labels that come with the dataset: 286, 515, 458 and 742 of 1,319.
TEST(Completions, Gsm8kSolutionsAreMarkedAsLabelled) {
  NB_NEEDS_DATA();
  EvalContext context;
  context.data_dir = test::data_dir();
  const Task& task = *find_task("gsm8k");
  const auto loaded = load_evaluator(task, context);
  ASSERT_TRUE(loaded.has_value()) << loaded.error().message;
  const auto& evaluator = dynamic_cast<const NumberEvaluator&>(**loaded);
  const auto file = test::data_dir() / "gsm8k/example_model_solutions.jsonl";
  const std::vector<std::pair<const char*, double>> wanted = {{"6b_finetuning", 286},
                                                              {"6b_verification", 515},
                                                              {"175b_finetuning", 458},
                                                              {"175b_verification", 742}};
  for (const auto& [member, right] : wanted) {
    const auto stored = read_completions(file, evaluator, {.member = member});
    ASSERT_TRUE(stored.has_value()) << stored.error().message;
    const auto result = grade_stored(task, evaluator, stored->texts, context);
    ASSERT_TRUE(result.has_value()) << result.error().message;
    EXPECT_EQ(result->metrics[0].value, right / 1319) << member;
  }
}

class ChatData : public testing::TestWithParam<const char*> {};

TEST_P(ChatData, BuiltInModelsScoreAsTheyMust) {
  NB_NEEDS_DATA();
  EvalContext context;
  context.data_dir = test::data_dir();
  const Task& task = *find_task(GetParam());
  const auto evaluator = load_evaluator(task, context);
  ASSERT_TRUE(evaluator.has_value()) << evaluator.error().message;
  EXPECT_EQ((*evaluator)->size(), std::string(GetParam()) == "gsm8k" ? 1319u : 256u);
  const std::vector<std::pair<BuiltInKind, double>> wanted = {
      {BuiltInKind::kOracle, 1}, {BuiltInKind::kChance, 0}, {BuiltInKind::kCorrupted, 0}};
  for (const auto& [kind, accuracy] : wanted) {
    BuiltInModel model(kind, test::byte_tokenizer());
    const auto result = evaluate(task, **evaluator, context, model);
    ASSERT_TRUE(result.has_value()) << result.error().message;
    EXPECT_EQ(result->metrics[0].value, accuracy);
    EXPECT_EQ(result->comparability.at(std::string(GetParam()) + "/scorer"), "number-1");
    EXPECT_EQ(result->metrics[2].name, std::string(GetParam()) + "/extraction_failures");
    // What chance says has no number in it.
    EXPECT_EQ(result->metrics[2].value, kind == BuiltInKind::kChance ? 1.0 : 0.0);
  }
}

INSTANTIATE_TEST_SUITE_P(AllTexts, ChatData, testing::Values("gsm8k", "spellingbee"),
                         [](const auto& test) { return std::string(test.param); });

}  // namespace
}  // namespace nb
