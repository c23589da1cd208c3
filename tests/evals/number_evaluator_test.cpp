#include "evals/number_evaluator.hpp"

#include <gtest/gtest.h>

#include "evals/built_in_models.hpp"
#include "evals/chat_prompt.hpp"
#include "evals/task_registry.hpp"
#include "tests/support/chat_tokenizer.hpp"

namespace nb {
namespace {

std::vector<NumberItem> toy_items(int count) {
  std::vector<NumberItem> items;
  for (int i = 0; i < count; ++i) {
    const std::string n = std::to_string(i);
    items.push_back({"id" + n, "row " + n, "bytes" + n, "How much is " + n + "?", "so\n#### " + n});
  }
  return items;
}

ItemRecord marked(const std::vector<std::string>& texts, const EvalContext& context = {}) {
  const NumberEvaluator evaluator("toy", "as they come", toy_items(19), context);
  auto record = evaluator.mark(18, texts);
  EXPECT_TRUE(record.has_value()) << record.error().message;
  return *record;
}

TEST(NumberEvaluator, MarksTheNumberBehindTheMarker) {
  const auto right =
      marked({"a <|python_start|>9*2<|python_end|><|output_start|>18<|output_end|>"
              "\n#### 18"});
  EXPECT_TRUE(right.ok);
  EXPECT_EQ(right.prediction, "18");
  EXPECT_EQ(right.gold, "18");
  EXPECT_EQ(right.reason, "");
  EXPECT_TRUE(right.sample_ok.empty());
  const auto wrong = marked({"#### 18.0"});
  EXPECT_FALSE(wrong.ok);
  EXPECT_EQ(wrong.prediction, "18.0");
  EXPECT_EQ(wrong.reason, "");
}

TEST(NumberEvaluator, NamesWhatHasNoAnswer) {
  const auto none = marked({"18"});
  EXPECT_FALSE(none.ok);
  EXPECT_EQ(none.prediction, "");
  EXPECT_EQ(none.reason, "no answer");
}

TEST(NumberEvaluator, OneRightSampleIsEnough) {
  const auto record = marked({"no", "#### 5", "#### 18"});
  EXPECT_TRUE(record.ok);
  EXPECT_EQ(record.sample_ok, (std::vector<int>{0, 0, 1}));
  EXPECT_EQ(record.reason, "");
  EXPECT_FALSE(marked({"#### 1", "#### 2"}).ok);
}

TEST(NumberEvaluator, LongAnswersAreShownShortAndComparedWhole) {
  const auto record = marked({"#### " + std::string(500, '1')});
  EXPECT_EQ(record.prediction.size(), 40u);
  EXPECT_FALSE(record.ok);
}

TEST(NumberEvaluator, FaultCountsARightAnswerAsWrong) {
  EvalContext faulty;
  faulty.fault = [](std::string_view) { return ScorerFault::kSecondBest; };
  EXPECT_FALSE(marked({"#### 18"}, faulty).ok);
}

TEST(NumberEvaluator, CountsTextsWithoutAnAnswer) {
  const EvalContext context;
  const NumberEvaluator evaluator("toy", "as they come", toy_items(2), context);
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
  const NumberEvaluator evaluator("toy", "as they come", toy_items(1), context);
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
  const NumberEvaluator evaluator("toy", "as they come", toy_items(1), context);
  EXPECT_EQ(evaluator.stored_text(0, "x\nA: 0"), "x\n#### 0");
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
