#include "evals/core/evaluator.hpp"

#include <gtest/gtest.h>

#include "tests/evals/support/toy.hpp"

namespace nb {
namespace {

constexpr const char* kToyRows =
    R"({"query": "a", "choices": ["the cat", "the fox", "12"], "gold": 0}
{"query": "b", "choices": ["on", "in", "at"], "gold": 1}
{"query": "c", "choices": ["red", "blue", "green"], "gold": 2}
{"query": "d", "choices": ["one", "two", "six"], "gold": 0}
)";

CoreTask toy_task(int shots) {
  CoreTask task;
  task.id = "toy";
  task.shots = shots;
  return task;
}

EvalResult run(const EvalContext& context, int shots = 1) {
  auto model = test::toy_model();
  auto result = test::evaluate_core(
      toy_task(shots), test::task_data(kToyRows, CoreTaskType::kMultipleChoice), context, model);
  EXPECT_TRUE(result.has_value()) << result.error().message;
  return *result;
}

TEST(CoreEvaluator, FewShotSeedIsPartOfComparability) {
  EvalContext a, b;
  b.settings.few_shot_seed = 99;
  const auto first = run(a), second = run(b);
  EXPECT_EQ(first.comparability.at("few_shot_seed"), "1234");
  EXPECT_EQ(second.comparability.at("few_shot_seed"), "99");
  EXPECT_EQ(first.comparability.at("toy/items"), second.comparability.at("toy/items"));
  EXPECT_NE(first.comparability.at("toy/prompts"), second.comparability.at("toy/prompts"));
}

TEST(CoreEvaluator, ComparabilityNamesAllThatDecidesWhatIsMeasured) {
  const auto map = run({}).comparability;
  for (const char* key : {"baselines", "few_shot_seed", "max_per_task", "scorer", "shuffle_seed",
                          "tokenizer", "toy/context", "toy/inputs", "toy/items", "toy/prompts"})
    EXPECT_TRUE(map.contains(key)) << key;
  EXPECT_EQ(map.size(), 10u);
}

TEST(CoreEvaluator, FaultChangesPredictionsButNotComparability) {
  EvalContext sound, faulty;
  faulty.fault = [](std::string_view task) {
    return task == "toy" ? ScorerFault::kSecondBest : ScorerFault::kNone;
  };
  const auto a = run(sound), b = run(faulty);
  EXPECT_EQ(a.comparability, b.comparability);
  ASSERT_EQ(a.items.size(), b.items.size());
  for (std::size_t i = 0; i < a.items.size(); ++i) {
    EXPECT_EQ(a.items[i].id, b.items[i].id);
    EXPECT_EQ(a.items[i].log_probs, b.items[i].log_probs);
    EXPECT_NE(a.items[i].prediction, b.items[i].prediction) << i;
  }
}

TEST(CoreEvaluator, FaultOfAnotherTaskChangesNothing) {
  EvalContext faulty;
  faulty.fault = [](std::string_view task) {
    return task == "other" ? ScorerFault::kSecondBest : ScorerFault::kNone;
  };
  EXPECT_EQ(items_text(run({}).items).value(), items_text(run(faulty).items).value());
}

TEST(CoreEvaluator, AllTiedChoicesGiveTheFirst) {
  auto model = test::flat_model();
  const auto result = test::evaluate_core(
      toy_task(0), test::task_data(kToyRows, CoreTaskType::kMultipleChoice), {}, model);
  for (const ItemRecord& item : result->items) EXPECT_EQ(item.prediction, "0");
}

TEST(CoreEvaluator, TooManyShotsNameBothNumbers) {
  EvalContext context;
  context.settings.max_per_task = 3;
  auto model = test::toy_model();
  const auto result = test::evaluate_core(
      toy_task(3), test::task_data(kToyRows, CoreTaskType::kMultipleChoice), context, model);
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error().message,
            "toy: 3 few-shot examples need at least 4 rows, but 3 are kept; raise max_per_task");
}

TEST(CoreEvaluator, ProgressReachesTheTotal) {
  EvalContext context;
  std::int64_t last = 0, total = 0;
  context.progress = [&](std::string_view, std::int64_t done, std::int64_t all) {
    EXPECT_GE(done, last);
    last = done;
    total = all;
  };
  run(context);
  EXPECT_EQ(last, 4);
  EXPECT_EQ(total, 4);
}

TEST(CoreEvaluator, ChoiceRecordsStayBelow150Bytes) {
  const auto text = items_text(run({}).items);
  ASSERT_TRUE(text.has_value()) << text.error().message;
  EXPECT_LE(text->size(), 4u * 150u);
}

TEST(CoreEvaluator, IntervalHoldsTheValue) {
  for (const Metric& metric : run({}).metrics) {
    EXPECT_LE(*metric.low, *metric.value) << metric.name;
    EXPECT_GE(*metric.high, *metric.value) << metric.name;
    EXPECT_EQ(metric.n, 4) << metric.name;
  }
}

}  // namespace
}  // namespace nb
