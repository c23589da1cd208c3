#include "evals/chat/letter_evaluator.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "evals/chat/prompt.hpp"
#include "evals/evaluate.hpp"
#include "evals/models/built_in_models.hpp"
#include "evals/task_registry.hpp"
#include "harness/base/hash.hpp"
#include "model/engine/fake_language_model.hpp"
#include "results/stats/stats.hpp"
#include "results/store/metric_names.hpp"
#include "tests/evals/support/toy.hpp"
#include "tests/support/chat_tokenizer.hpp"

namespace nb {
namespace {

std::vector<ChoiceItem> toy_choice_items(int count) {
  std::string text;
  for (int i = 0; i < count; ++i)
    text += R"({"id": "Q)" + std::to_string(i) + R"(", "question": "Number )" + std::to_string(i) +
            R"(?", "choices": {"text": ["w", "x", "y", "z"], "label": ["A", "B", "C", "D"]}, )" +
            R"("answerKey": ")" + std::string(1, static_cast<char>('A' + i % 4)) + "\"}\n";
  return parse_arc(text, "toy.jsonl").value();
}

EvalResult run(LanguageModel& model, const EvalContext& context = {}, int count = 24) {
  const LetterEvaluator evaluator("toy", toy_choice_items(count), context);
  Task task;
  task.id = "toy";
  auto result = evaluate(task, evaluator, context, model);
  EXPECT_TRUE(result.has_value()) << result.error().message;
  return *result;
}

// Letters by their ids: D is likeliest, then B.
FakeLanguageModel letter_model() {
  return FakeLanguageModel(test::byte_tokenizer(), 4096, [](std::span<const int>, int token) {
    return FakeScore{token == 'D' ? -1.0f : token == 'B' ? -2.0f : -3.0f, 0};
  });
}

TEST(LetterEvaluator, PicksTheLikeliestLetter) {
  auto model = letter_model();
  const auto result = run(model);
  ASSERT_EQ(result.items.size(), 24u);
  for (const ItemRecord& item : result.items) {
    EXPECT_EQ(item.prediction, "D");
    EXPECT_EQ(item.ok, item.gold == "D");
    EXPECT_EQ(item.log_probs, (std::vector<float>{-3, -2, -3, -1}));
  }
  EXPECT_EQ(result.metrics[0].name, "toy/accuracy");
  EXPECT_EQ(result.metrics[0].value, 0.25);
  EXPECT_EQ(result.metrics[1].value, 0.0);  // centred on 25 %
}

TEST(LetterEvaluator, AsksForEachLetterRightAfterTheAssistantStarts) {
  const EvalContext context;
  const LetterEvaluator evaluator("toy", toy_choice_items(3), context);
  const auto requests = evaluator.requests(0, test::byte_tokenizer(), 4096);
  ASSERT_TRUE(requests.has_value()) << requests.error().message;
  ASSERT_EQ(requests->scores.size(), 4u);
  for (std::size_t k = 0; k < 4; ++k) {
    const ScoreRequest& request = requests->scores[k];
    EXPECT_EQ(request.end, request.start + 1);
    EXPECT_EQ(request.tokens.size(), request.end);
    EXPECT_EQ(request.tokens[request.start - 1],
              test::byte_tokenizer().special("<|assistant_start|>"));
    EXPECT_EQ(request.tokens.back(), static_cast<int>('A' + k));
  }
  EXPECT_EQ(requests->cut_tokens, 0);
}

TEST(LetterEvaluator, AModelThatIsNotFiniteHasNoPick) {
  FakeLanguageModel model(test::byte_tokenizer(), 4096, [](std::span<const int>, int token) {
    return FakeScore{token == 'C' ? std::nanf("") : -1.0f, 0};
  });
  const EvalResult result = run(model);
  for (const ItemRecord& item : result.items) {
    EXPECT_EQ(item.prediction, "");
    EXPECT_FALSE(item.ok);
    EXPECT_TRUE(item.log_probs.empty());
    EXPECT_EQ(item.reason, kNotFinite);
  }
  EXPECT_FALSE(result.metrics.at(0).value);
}

TEST(LetterEvaluator, LongPromptLosesItsEndAsTheReferenceDoes) {
  auto items = toy_choice_items(1);
  items[0].question = std::string(3000, 'q');
  const EvalContext context;
  const LetterEvaluator evaluator("toy", items, context);
  const Tokenizer& tokenizer = test::byte_tokenizer();
  const auto whole = render_for_completion(tokenizer, conversation_of(items[0]), 1 << 20).value();
  const auto at_2048 = evaluator.requests(0, tokenizer, 1 << 20).value();
  EXPECT_EQ(at_2048.scores[0].start, 2048 + 1u);  // 2048 and <|assistant_start|>
  EXPECT_EQ(at_2048.cut_tokens, static_cast<std::int64_t>(whole.size()) - 2049);
  const auto at_100 = evaluator.requests(0, tokenizer, 100).value();
  EXPECT_EQ(at_100.scores[0].tokens.size(), 100u);
  EXPECT_TRUE(std::equal(whole.begin(), whole.begin() + 98, at_100.scores[0].tokens.begin()));
  EXPECT_EQ(at_100.scores[0].tokens[98], tokenizer.special("<|assistant_start|>"));
  const auto none = evaluator.requests(0, tokenizer, 2);
  ASSERT_FALSE(none.has_value());
  EXPECT_TRUE(none.error().message.starts_with("the context leaves 1 tokens for the prompt"));
}

TEST(LetterEvaluator, CutPromptsAreCountedAndNotComparable) {
  FakeLanguageModel small(test::byte_tokenizer(), 60, [](std::span<const int>, int) {
    return FakeScore{-1, 0};
  });
  auto large = letter_model();
  const auto cut = run(small), whole = run(large);
  EXPECT_GT(cut.items[0].cut_tokens, 0);
  EXPECT_EQ(cut.comparability.at("toy/context"), "cut to 60 tokens");
  EXPECT_EQ(whole.comparability.at("toy/context"), "whole");
}

TEST(LetterEvaluator, LettersOfSeveralTokensAreAnErrorThatNamesTheTokenizer) {
  auto items = toy_choice_items(2);
  for (ChoiceItem& item : items) item.letters = {"A", "B", "C", "10"};
  const LetterEvaluator evaluator("toy", items, EvalContext());
  const auto result = evaluator.check_tokenizer(test::byte_tokenizer());
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error().message, "tokenizer " + test::byte_tokenizer().hash().substr(0, 12) +
                                        " (265 tokens): the letter \"10\" is 2 tokens, but must be "
                                        "a single token to be scored; use another tokenizer");
}

TEST(LetterEvaluator, FaultTakesTheSecondBest) {
  auto model = letter_model();
  EvalContext faulty;
  faulty.fault = [](std::string_view) { return ScorerFault::kSecondBest; };
  for (const ItemRecord& item : run(model, faulty).items) EXPECT_EQ(item.prediction, "B");
}

TEST(LetterEvaluator, SubsetIsTheHeadOfTheShuffledRowsAndNotComparable) {
  auto model = letter_model();
  EvalContext subset;
  subset.settings.max_per_task = 10;
  const auto all = run(model), some = run(model, subset);
  ASSERT_EQ(some.items.size(), 10u);
  for (std::size_t i = 0; i < 10; ++i) EXPECT_EQ(some.items[i].id, all.items[i].id);
  EXPECT_EQ(some.comparability.at("max_per_task"), "10");
  EXPECT_EQ(all.comparability.at("max_per_task"), "all");
}

TEST(LetterEvaluator, RecordsOfFiveChoicesFitIn150Bytes) {
  ChoiceItem item = toy_choice_items(1).front();
  item.choices.push_back("v");
  item.letters.push_back("E");
  FakeLanguageModel model(test::byte_tokenizer(), 4096, [](std::span<const int>, int token) {
    return FakeScore{-12.345678f - static_cast<float>(token) / 7, 0};
  });
  const EvalContext context;
  const LetterEvaluator evaluator("toy", {item}, context);
  Task task;
  task.id = "toy";
  const auto result = evaluate(task, evaluator, context, model);
  ASSERT_TRUE(result.has_value()) << result.error().message;
  EXPECT_LE(items_text(result->items).value().size(), 150u);
}

TEST(LetterEvaluator, BuiltInModelsScoreAsTheyMust) {
  BuiltInModel oracle(BuiltInKind::kOracle, test::byte_tokenizer());
  BuiltInModel corrupted(BuiltInKind::kCorrupted, test::byte_tokenizer());
  BuiltInModel chance(BuiltInKind::kChance, test::byte_tokenizer());
  EXPECT_EQ(run(oracle, {}, 400).metrics[0].value, 1.0);
  EXPECT_EQ(run(corrupted, {}, 400).metrics[0].value, 0.0);
  const auto by_chance = run(chance, {}, 400);
  const auto right = static_cast<std::int64_t>(std::lround(*by_chance.metrics[0].value * 400));
  const Interval interval = wilson(right, 400, 2.5758293035489004);  // 99 %
  EXPECT_LE(interval.low, 0.25);
  EXPECT_GE(interval.high, 0.25);
}

// --- the published data, against tests/golden/chat_tasks.py ---

TEST(LetterEvaluator, PredictsAsTheIndependentScriptSays) {
  NB_NEEDS_DATA();
  const auto golden = read_json(NB_SOURCE_DIR "/tests/golden/chat_tasks.json");
  ASSERT_TRUE(golden.has_value()) << golden.error().message;
  FakeLanguageModel model(test::gpt2_chat_tokenizer(), 4096,
                          [](std::span<const int> before, int token) {
                            const auto sum = static_cast<int>(before.size()) * 7 + token * 13;
                            return FakeScore{-static_cast<float>(sum % 10) / 4, 0};
                          });
  EvalContext context;
  context.data_dir = test::data_dir();
  context.settings.max_per_task = 20;
  for (const char* id : {"chat_arc_easy", "chat_arc_challenge", "mmlu"}) {
    const Task& task = *find_task(id);
    const auto evaluator = load_evaluator(task, context);
    ASSERT_TRUE(evaluator.has_value()) << evaluator.error().message;
    const auto result = evaluate(task, **evaluator, context, model);
    ASSERT_TRUE(result.has_value()) << result.error().message;
    const Json& want = golden->at(id);
    int right = 0;
    for (std::size_t i = 0; i < 20; ++i) {
      const Json& row = want.at("items")[i];
      EXPECT_EQ(result->items[i].prediction, row.at("prediction").get<std::string>()) << id << i;
      EXPECT_EQ(result->items[i].gold, row.at("gold").get<std::string>()) << id << i;
      EXPECT_EQ((*evaluator)->public_id(i),
                row.value("name", "row " + std::to_string(row.at("row").get<int>() + 1)))
          << id << i;
      right += result->items[i].ok ? 1 : 0;
    }
    EXPECT_EQ(right, want.at("right").get<int>()) << id;
  }
}

// HumanEval and GSM8K: the prompts that a model goes on from.
TEST(ChatPrompt, IsThatOfTheIndependentScript) {
  NB_NEEDS_DATA();
  const auto golden = read_json(NB_SOURCE_DIR "/tests/golden/chat_tasks.json");
  ASSERT_TRUE(golden.has_value()) << golden.error().message;
  EvalContext context;
  context.data_dir = test::data_dir();
  context.settings.max_per_task = 20;
  for (const char* id : {"humaneval", "gsm8k"}) {
    const auto loaded = load_evaluator(*find_task(id), context);
    ASSERT_TRUE(loaded.has_value()) << loaded.error().message;
    const auto& evaluator = dynamic_cast<const GeneratingEvaluator&>(**loaded);
    for (std::size_t i = 0; i < 20; ++i) {
      const Json& row = golden->at(id).at("items")[i];
      const auto prompt = evaluator.prompt(i, test::gpt2_chat_tokenizer(), 4096);
      ASSERT_TRUE(prompt.has_value()) << prompt.error().message;
      std::string ids;
      for (const int token : prompt->tokens)
        ids += (ids.empty() ? "" : ",") + std::to_string(token);
      EXPECT_EQ(Json({prompt->tokens.size(), sha256_hex(ids).substr(0, 16)}), row.at("prompt_ids"))
          << id << " " << i;
      EXPECT_EQ(sha256_hex(evaluator.prompts(i).front()).substr(0, 16),
                row.at("user").get<std::string>());
    }
  }
}

TEST(LetterEvaluator, BuiltInModelsScoreAsTheyMustOnThePublishedData) {
  NB_NEEDS_DATA();
  EvalContext context;
  context.data_dir = test::data_dir();
  for (const char* id : {"chat_arc_easy", "chat_arc_challenge"}) {
    const Task& task = *find_task(id);
    const auto evaluator = load_evaluator(task, context);
    ASSERT_TRUE(evaluator.has_value()) << evaluator.error().message;
    EXPECT_EQ(static_cast<std::int64_t>((*evaluator)->size()), task.rows);
    const auto accuracy = [&](BuiltInKind kind) {
      BuiltInModel model(kind, test::byte_tokenizer());
      const auto result = evaluate(task, **evaluator, context, model);
      EXPECT_TRUE(result.has_value()) << result.error().message;
      return *result->metrics[0].value;
    };
    EXPECT_EQ(accuracy(BuiltInKind::kOracle), 1.0) << id;
    EXPECT_EQ(accuracy(BuiltInKind::kCorrupted), 0.0) << id;
    const double n = static_cast<double>(task.rows), guess = (*evaluator)->guessing();
    EXPECT_NEAR(accuracy(BuiltInKind::kChance), guess,
                2.5758293035489004 * std::sqrt(guess * (1 - guess) / n))
        << id;
  }
}

}  // namespace
}  // namespace nb
