#include "evals/models/built_in_models.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "evals/core/grade.hpp"
#include "evals/evaluate.hpp"
#include "evals/task_registry.hpp"
#include "model/tokenizer/byte_tokenizer.hpp"
#include "results/stats/stats.hpp"
#include "tests/evals/support/echo_evaluator.hpp"
#include "tests/evals/support/toy.hpp"
#include "tests/support/data_dir.hpp"

namespace nb {
namespace {

constexpr double kZ99 = 2.5758293035489004;  // two-sided 99 %

EvalContext context_of(const std::string& tasks) {
  EvalContext context;
  context.settings.tasks = {tasks};
  context.data_dir = test::data_dir();
  return context;
}

EvalResult ask(BuiltInKind kind, const Task& task, const Evaluator& evaluator,
               const EvalContext& context) {
  static const Tokenizer tokenizer = byte_tokenizer();
  BuiltInModel model(kind, tokenizer);
  auto result = evaluate(task, evaluator, context, model);
  EXPECT_TRUE(result.has_value()) << result.error().message;
  return *result;
}

void check_task(const Task& task, const Evaluator& evaluator, const EvalContext& context) {
  SCOPED_TRACE(task.id);
  // Right wherever a model has a say, wrong wherever it has.
  for (const ItemRecord& item : ask(BuiltInKind::kOracle, task, evaluator, context).items)
    EXPECT_EQ(item.ok, item.reason != kAlwaysWrong) << item.id;
  for (const ItemRecord& item : ask(BuiltInKind::kCorrupted, task, evaluator, context).items)
    EXPECT_EQ(item.ok, item.reason == kAlwaysRight) << item.id;
  const auto chance = ask(BuiltInKind::kChance, task, evaluator, context).items;
  const auto right =
      std::count_if(chance.begin(), chance.end(), [](const ItemRecord& item) { return item.ok; });
  const Interval interval = wilson(right, std::ssize(chance), kZ99);
  const double guessing = evaluator.guessing();
  EXPECT_LE(interval.low, guessing);
  EXPECT_GE(interval.high, guessing);
}

TEST(BuiltInModels, AreRightWrongAndAtChanceOnTheGeneratedTasks) {
  for (const Task& task : test::tasks_of("mw"))
    check_task(task, **load_evaluator(task, context_of("mw")), context_of("mw"));
}

TEST(BuiltInModels, AreRightWrongAndAtChanceOnTheGeneratedTasksInChat) {
  for (const Task& task : test::tasks_of("mw_chat")) {
    EvalContext context = context_of("mw_chat");
    if (task.id == "mw/humaneval") context.settings.max_per_task = 6;
    const auto loaded = load_evaluator(task, context);
    if (!loaded && loaded.error().code == ErrorCode::kRun) continue;  // no sandbox on this host
    ASSERT_TRUE(loaded.has_value()) << loaded.error().message;
    check_task(task, **loaded, context);
  }
}

TEST(BuiltInModels, AreRightWrongAndAtChanceOnEveryTaskWithData) {
  NB_NEEDS_DATA();
  for (const Task& task : all_tasks()) {
    if (task.dataset == "microworld" || task.dataset == "core/hellaswag" ||
        task.dataset == kOwnFiles)
      continue;
    EvalContext context = context_of("core");
    context.settings.max_per_task = task.kind == kTextTask ? 6 : 200;
    const auto loaded = load_evaluator(task, context);
    if (!loaded && loaded.error().code == ErrorCode::kRun) continue;  // no sandbox on this host
    ASSERT_TRUE(loaded.has_value()) << loaded.error().message;
    check_task(task, **loaded, context);
  }
}

std::vector<std::string> rows_with(const char* reason, const EvalResult& result,
                                   const Evaluator& evaluator) {
  std::vector<std::string> rows;
  for (std::size_t i = 0; i < result.items.size(); ++i)
    if (result.items[i].reason == reason) rows.push_back(evaluator.public_id(i));
  std::sort(rows.begin(), rows.end());
  return rows;
}

// CORE's bundle: five rows have a choice that begins the other one, and the rule decides them.
TEST(BuiltInModels, FiveRowsOfPiqaAreDecidedWithoutAModel) {
  NB_NEEDS_DATA();
  const Task& task = *find_task("piqa");
  const EvalContext context = context_of("piqa");
  const auto loaded = load_evaluator(task, context);
  ASSERT_TRUE(loaded.has_value()) << loaded.error().message;
  const Evaluator& evaluator = **loaded;
  const std::vector<std::string> right = {"row 102", "row 1029", "row 988"};
  const std::vector<std::string> wrong = {"row 179", "row 356"};
  const EvalResult oracle = ask(BuiltInKind::kOracle, task, evaluator, context);
  EXPECT_EQ(rows_with(kAlwaysRight, oracle, evaluator), right);
  EXPECT_EQ(rows_with(kAlwaysWrong, oracle, evaluator), wrong);
  ASSERT_EQ(oracle.items.size(), 1838u);
  EXPECT_EQ(*oracle.metrics.at(0).value, 1836.0 / 1838.0);
  const EvalResult corrupted = ask(BuiltInKind::kCorrupted, task, evaluator, context);
  EXPECT_EQ(rows_with(kAlwaysRight, corrupted, evaluator), right);
  EXPECT_EQ(*corrupted.metrics.at(0).value, 3.0 / 1838.0);
}

TEST(BuiltInModels, SayTheRightAndTheWrongText) {
  const test::EchoEvaluator evaluator({"one", "two", "π = 3"});
  const Tokenizer tokenizer = byte_tokenizer();
  Task task;
  task.id = "echo";
  EvalContext context;
  context.settings.num_samples = 2;
  for (const auto& [kind, accuracy] :
       {std::pair(BuiltInKind::kOracle, 1.0), std::pair(BuiltInKind::kChance, 0.0),
        std::pair(BuiltInKind::kCorrupted, 0.0)}) {
    BuiltInModel model(kind, tokenizer);
    const auto result = evaluate(task, evaluator, context, model);
    ASSERT_TRUE(result.has_value()) << result.error().message;
    EXPECT_EQ(*result->metrics.at(0).value, accuracy);
    for (const ItemRecord& item : result->items) EXPECT_EQ(item.texts.size(), 2u);
  }
}

TEST(BuiltInModels, DrawsDependOnTheItemAlone) {
  const Task& task = *find_task("mw/facts");
  EvalContext context = context_of("mw");
  const auto loaded = load_evaluator(task, context);
  ASSERT_TRUE(loaded.has_value()) << loaded.error().message;
  const Evaluator& evaluator = **loaded;
  const auto together = ask(BuiltInKind::kChance, task, evaluator, context).items;
  context.batch_items = 1;
  const auto alone = ask(BuiltInKind::kChance, task, evaluator, context).items;
  EXPECT_EQ(items_text(together).value(), items_text(alone).value());
}

TEST(BuiltInModels, NamesAreFound) {
  for (const BuiltInModelInfo& info : built_in_models())
    EXPECT_EQ(find_built_in_model(info.name), &info);
  EXPECT_EQ(find_built_in_model("oracel"), nullptr);
}

}  // namespace
}  // namespace nb
