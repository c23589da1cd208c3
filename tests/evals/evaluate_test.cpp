// The driver: batches, shards and resume change nothing, to the byte.
#include "evals/evaluate.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "evals/composites.hpp"
#include "evals/task_registry.hpp"
#include "tests/evals/support/echo_evaluator.hpp"
#include "tests/evals/support/toy.hpp"
#include "tests/support/temp_dir.hpp"

namespace nb {
namespace {

// All that a result says, as text.
std::string text_of(const EvalResult& result) {
  std::string text = result.task + "\n" + items_text(result.items).value();
  for (const Metric& metric : result.metrics)
    text += metric.name + " " + std::to_string(metric.value.value_or(-1)) + "\n";
  for (const auto& [key, value] : result.comparability) text += key + " " + value + "\n";
  return text;
}

std::string run(const EvalContext& context) {
  auto model = test::toy_model();
  const auto results = evaluate(context, model);
  EXPECT_TRUE(results.has_value()) << results.error().message;
  std::string text;
  for (const EvalResult& result : *results) text += text_of(result);
  return text;
}

// Keeps what the sink gets and gives it back.
struct Memory {
  std::map<std::string, std::vector<ItemRecord>, std::less<>> items;
  void attach(EvalContext& context) {
    context.done = [this](std::string_view task) -> Result<std::vector<ItemRecord>> {
      const auto found = items.find(task);
      return found == items.end() ? std::vector<ItemRecord>() : found->second;
    };
    context.sink = [this](std::string_view task, const ItemRecord& item) -> Result<void> {
      items[std::string(task)].push_back(item);
      return {};
    };
  }
};

TEST(Evaluate, BatchesChangeNothing) {
  EvalContext context = test::small_world(50);
  const std::string expected = run(context);
  for (const std::int64_t batch : {1, 8, 64}) {
    context.batch_items = batch;
    EXPECT_EQ(run(context), expected) << batch;
  }
}

TEST(Evaluate, ShardsMergeToTheBytesOfOneRun) {
  const std::string expected = run(test::small_world(50));
  Memory memory;
  for (const std::int64_t shard : {2, 0, 1}) {
    EvalContext context = test::small_world(50);
    memory.attach(context);
    context.shards = 3;
    context.shard = shard;
    run(context);
  }
  for (const auto& [task, items] : memory.items) EXPECT_EQ(items.size(), 50u) << task;
  EvalContext context = test::small_world(50);
  memory.attach(context);
  context.sink = [](std::string_view, const ItemRecord&) -> Result<void> {
    return run_error("nothing is left to do");
  };
  EXPECT_EQ(run(context), expected);
}

TEST(Evaluate, AShardAloneHasNoMetrics) {
  EvalContext context = test::small_world(50);
  context.shards = 3;
  auto model = test::toy_model();
  const auto results = evaluate(context, model);
  ASSERT_TRUE(results.has_value()) << results.error().message;
  EXPECT_EQ(results->at(0).items.size(), 17u);
  EXPECT_EQ(results->at(0).items_expected, 50);
  EXPECT_FALSE(results->at(0).is_complete());
  EXPECT_TRUE(results->at(0).metrics.empty());
}

TEST(Evaluate, WhatWasInterruptedGoesOnAtTheItem) {
  const std::string expected = run(test::small_world(50));
  Memory memory;
  EvalContext context = test::small_world(50);
  memory.attach(context);
  int left = 73;  // in the middle of a batch of the second task
  context.sink = [&](std::string_view task, const ItemRecord& item) -> Result<void> {
    if (left-- == 0) return run_error("killed");
    memory.items[std::string(task)].push_back(item);
    return {};
  };
  auto model = test::toy_model();
  EXPECT_FALSE(evaluate(context, model).has_value());
  memory.attach(context);
  auto fresh = test::toy_model();
  const auto results = evaluate(context, fresh);
  ASSERT_TRUE(results.has_value()) << results.error().message;
  std::string text;
  for (const EvalResult& result : *results) text += text_of(result);
  EXPECT_EQ(text, expected);
  auto whole = test::toy_model();
  ASSERT_TRUE(evaluate(test::small_world(50), whole).has_value());
  EXPECT_LT(fresh.scored_requests(), whole.scored_requests());
}

TEST(Evaluate, ItemsOfOtherPromptsAreNotTakenUp) {
  Memory memory;
  EvalContext context = test::small_world(50);
  memory.attach(context);
  run(context);
  memory.items["mw/facts"][3].prompt_hash[0] ^= 1;
  auto model = test::toy_model();
  const auto results = evaluate(context, model);
  ASSERT_FALSE(results.has_value());
  EXPECT_NE(results.error().message.find("with other data, settings or prompts"), std::string::npos)
      << results.error().message;
}

TEST(Evaluate, CutPromptsAreCountedInTheItems) {
  constexpr const char* kRows =
      R"({"query": "a long question about nothing at all", "choices": ["cat", "fox"], "gold": 0}
{"query": "short", "choices": ["red", "fox"], "gold": 1}
)";
  CoreTask task;
  task.id = "toy";
  auto model = test::toy_model(/*context_length=*/14);
  const auto result =
      test::evaluate_core(task, test::task_data(kRows, CoreTaskType::kMultipleChoice), {}, model);
  ASSERT_TRUE(result.has_value()) << result.error().message;
  EXPECT_EQ(result->comparability.at("toy/context"), "cut to 14 tokens");
  const auto cut = std::count_if(result->items.begin(), result->items.end(),
                                 [](const ItemRecord& item) { return item.cut_tokens > 0; });
  EXPECT_EQ(cut, 1);
  EXPECT_EQ(result->metrics.back().name, "toy/cut_prompts");
  EXPECT_EQ(result->metrics.back().value, 1.0);
}

// Contexts from far too short to just long enough: the last cut one lacks one token.
TEST(Evaluate, APromptThatIsCutByOneTokenIsCounted) {
  constexpr const char* kRow =
      R"({"query": "a long question about nothing at all", "choices": ["cat", "fox 12"], "gold": 0})";
  CoreTask task;
  task.id = "toy";
  std::int64_t last_cut = 0;
  for (std::int64_t context = 14; context < 64; ++context) {
    auto model = test::toy_model(context);
    const auto result =
        test::evaluate_core(task, test::task_data(kRow, CoreTaskType::kMultipleChoice), {}, model);
    ASSERT_TRUE(result.has_value()) << result.error().message;
    const std::int64_t cut = result->items.at(0).cut_tokens;
    const bool is_counted = result->metrics.back().name == "toy/cut_prompts";
    EXPECT_EQ(is_counted, cut > 0) << context;
    EXPECT_EQ(result->comparability.at("toy/context") == "whole", cut == 0) << context;
    if (cut > 0) last_cut = cut;
  }
  EXPECT_EQ(last_cut, 1);
}

TEST(Evaluate, OneItemATaskIsSaid) {
  constexpr const char* kRows =
      R"({"query": "a", "choices": ["cat", "fox"], "gold": 0}
{"query": "b", "choices": ["red", "fox"], "gold": 1}
)";
  CoreTask task;
  task.id = "toy";
  EvalContext context;
  context.settings.max_per_task = 1;
  auto model = test::toy_model();
  const auto result = test::evaluate_core(
      task, test::task_data(kRows, CoreTaskType::kMultipleChoice), context, model);
  ASSERT_TRUE(result.has_value()) << result.error().message;
  EXPECT_EQ(result->items.size(), 1u);
  EXPECT_EQ(result->comparability.at("max_per_task"), "1");
}

// copa 0.56 of an all-NaN model was a score like any other.
TEST(Evaluate, AModelThatIsNotFiniteHasNoScore) {
  FakeLanguageModel model(test::toy_tokenizer(), 4096, [](std::span<const int>, int) {
    return FakeScore{std::nanf(""), 0};
  });
  const auto results = evaluate(test::small_world(20), model);
  ASSERT_TRUE(results.has_value()) << results.error().message;
  for (const EvalResult& result : *results) {
    ASSERT_EQ(result.metrics.size(), 3u) << result.task;
    for (const std::size_t i : {0u, 1u}) {
      EXPECT_FALSE(result.metrics[i].value) << result.metrics[i].name;
      EXPECT_FALSE(result.metrics[i].low);
      EXPECT_EQ(result.metrics[i].reason_if_null,
                "20 of 20 items have no score: the model's numbers are not finite");
    }
    EXPECT_EQ(result.metrics[2].name, result.task + "/not_scored");
    EXPECT_EQ(result.metrics[2].value, 1.0);
    for (const ItemRecord& item : result.items) {
      EXPECT_EQ(item.reason, "not finite");
      EXPECT_FALSE(item.ok);
      EXPECT_EQ(item.prediction, "");
    }
  }
}

TEST(Evaluate, OneItemThatIsNotFiniteTakesTheScoreAway) {
  int calls = 0;
  FakeLanguageModel model(test::toy_tokenizer(), 4096, [&](std::span<const int>, int) {
    return FakeScore{calls++ == 0 ? std::nanf("") : -1.0f, 0};
  });
  EvalContext context = test::small_world(20);
  context.settings.tasks = {"mw/choice"};
  const auto results = evaluate(context, model);
  ASSERT_TRUE(results.has_value()) << results.error().message;
  const EvalResult& result = results->at(0);
  EXPECT_EQ(result.metrics.at(0).reason_if_null,
            "1 of 20 items has no score: the model's numbers are not finite");
  EXPECT_EQ(result.metrics.at(2).value, 0.05);
}

// Says the right word, but not from finite logits.
class NotFiniteModel : public FakeLanguageModel {
 public:
  explicit NotFiniteModel(const Tokenizer& tokenizer)
      : FakeLanguageModel(
            tokenizer, 4096, [](auto, int) { return FakeScore{}; },
            [&tokenizer](const GenerateRequest&, int) { return tokenizer.encode("cat"); }) {}
  std::vector<GenerateResult> generate(std::span<const GenerateRequest> requests) override {
    auto results = FakeLanguageModel::generate(requests);
    results.front().samples.back().stop = StopReason::kNotFiniteLogits;
    return results;
  }
};

TEST(Evaluate, ATextOfAModelThatIsNotFiniteHasNoMark) {
  Task task;
  task.id = "echo";
  task.kind = kTextTask;
  const test::EchoEvaluator evaluator({"cat", "dog"});
  for (const std::int64_t samples : {1, 2}) {
    NotFiniteModel model(test::toy_tokenizer());
    EvalContext context;
    context.settings.num_samples = samples;
    const auto result = evaluate(task, evaluator, context, model);
    ASSERT_TRUE(result.has_value()) << result.error().message;
    const ItemRecord& first = result->items.at(0);
    EXPECT_FALSE(first.ok);
    EXPECT_EQ(first.reason, kNotFinite);
    EXPECT_EQ(first.prediction, "");
    EXPECT_EQ(first.gold, "cat");
    EXPECT_TRUE(first.sample_ok.empty());
    EXPECT_EQ(std::ssize(first.texts), samples);
    EXPECT_FALSE(result->metrics.at(0).value);
    // Graded again, it has no score either.
    const std::vector<StoredTexts> stored = {{0, first.texts, false}, {1, {"dog"}, true}};
    const auto again = grade_stored(task, evaluator, stored, context);
    ASSERT_TRUE(again.has_value()) << again.error().message;
    EXPECT_EQ(again->items.at(0).reason, kNotFinite);
    EXPECT_TRUE(again->items.at(1).ok);
    EXPECT_FALSE(again->metrics.at(0).value);
  }
}

// Reads "!" in front of a text as a mark of its own.
class MarkingEvaluator : public test::EchoEvaluator {
 public:
  using EchoEvaluator::EchoEvaluator;
  std::string stored_text(std::size_t, TextForm form, std::string text) const override {
    return form == TextForm::kAnswer ? "!" + text : text;
  }
};

TEST(Evaluate, WhatAModelSaysIsReadAsAnAnswer) {
  Task task;
  task.id = "echo";
  task.kind = kTextTask;
  FakeLanguageModel model(
      test::toy_tokenizer(), 4096, [](auto, int) { return FakeScore{}; },
      [](const GenerateRequest&, int) { return test::toy_tokenizer().encode("cat"); });
  const auto result = evaluate(task, MarkingEvaluator({"!cat"}), EvalContext{}, model);
  ASSERT_TRUE(result.has_value()) << result.error().message;
  EXPECT_TRUE(result->items.at(0).ok);
  EXPECT_EQ(result->items.at(0).texts.at(0), "cat");
}

TEST(Preflight, NamesMissingFilesAndTheCommandThatGetsThem) {
  test::TempDir folder;
  EvalContext context;
  context.settings.tasks = {"mw/facts", "copa", "arc_easy"};
  context.data_dir = folder.path();
  const auto checked = preflight(context);
  ASSERT_FALSE(checked.has_value());
  EXPECT_NE(checked.error().message.find(
                "2 files are missing; download them: npubench data get core/arc_easy core/copa"),
            std::string::npos)
      << checked.error().message;
}

TEST(Preflight, UnknownTaskIsNamedBeforeAnyFileIsRead) {
  EvalContext context;
  context.settings.tasks = {"copa", "winogrnd"};
  const auto checked = preflight(context);
  ASSERT_FALSE(checked.has_value());
  EXPECT_NE(checked.error().message.find("winogrnd"), std::string::npos) << checked.error().message;
}

}  // namespace
}  // namespace nb
