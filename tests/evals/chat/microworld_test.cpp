// The chat evaluations of the generated world.
#include <gtest/gtest.h>

#include <set>

#include "evals/base/evaluator.hpp"
#include "evals/chat/letter_evaluator.hpp"
#include "evals/evaluate.hpp"
#include "evals/task_registry.hpp"
#include "model/data/microworld_chat.hpp"
#include "model/engine/calculator.hpp"
#include "tests/evals/support/toy.hpp"

namespace nb {
namespace {

std::unique_ptr<Evaluator> load(const char* id, const EvalContext& context) {
  auto loaded = load_evaluator(*find_task(id), context);
  EXPECT_TRUE(loaded) << loaded.error().message;
  return loaded ? std::move(*loaded) : nullptr;
}

constexpr const char* kWithoutSandbox[] = {"mw/arc_easy", "mw/arc_challenge", "mw/mmlu", "mw/gsm8k",
                                           "mw/spellingbee"};

TEST(MicroworldInChat, AsksItsItemsOfTheContextsWorld) {
  EvalContext context = test::small_world(12), other = test::small_world(12);
  other.microworld.seed = 2;
  for (const char* id : kWithoutSandbox) {
    const auto one = load(id, context), two = load(id, other);
    ASSERT_TRUE(one && two);
    EXPECT_EQ(one->size(), 12U) << id;
    std::set<std::string> ids;
    for (std::size_t i = 0; i < one->size(); ++i) {
      ids.insert(one->item_id(i));
      EXPECT_TRUE(one->public_id(i).starts_with("test ")) << one->public_id(i);
    }
    EXPECT_EQ(ids.size(), 12U) << id;
    EXPECT_FALSE(ids.contains(two->item_id(0))) << id;
    const bool has_letters = one->guessing() > 0;
    EXPECT_EQ(one->baseline_percent(), has_letters ? 25 : 0) << id;
    EXPECT_EQ(one->guessing(), has_letters ? .25 : 0) << id;
  }
}

TEST(MicroworldInChat, PromptsAreThoseOfTheTestConversations) {
  const EvalContext context = test::small_world(5);
  for (const char* id : kWithoutSandbox) {
    const auto evaluator = load(id, context);
    const auto test = microworld_conversations(context.microworld, id, WorldSplit::kTest, 5);
    ASSERT_TRUE(evaluator && test);
    std::set<std::string> asked, told;
    for (std::size_t i = 0; i < 5; ++i) {
      asked.insert(evaluator->prompts(i).at(0));
      told.insert(all_text(test->at(i).messages[0]));
    }
    EXPECT_EQ(asked, told) << id;
  }
}

TEST(MicroworldInChat, OutOfRangeSettingsAreNamed) {
  EvalContext context = test::small_world(12);
  context.microworld.items_per_task = 191;
  for (const char* id : kWithoutSandbox) {
    const auto loaded = load_evaluator(*find_task(id), context);
    ASSERT_FALSE(loaded) << id;
    EXPECT_NE(loaded.error().message.find("items_per_task"), std::string::npos)
        << loaded.error().message;
  }
}

// Of answers: what stands behind a call is what the calculator answers.
TEST(MicroworldInChat, CalculatorAgreesWithEveryCall) {
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    MicroworldSettings settings;
    settings.seed = seed;
    int calls = 0;
    for (const char* id : {"mw/gsm8k", "mw/spellingbee"})
      for (const WorldSplit split : {WorldSplit::kTrain, WorldSplit::kTest}) {
        const auto task = microworld_conversations(settings, id, split, 180);
        ASSERT_TRUE(task);
        for (std::size_t i = 0; i < 180; ++i) {
          const std::vector<MessagePart> parts = task->at(i).messages.at(1).parts;
          for (std::size_t p = 0; p + 1 < parts.size(); ++p) {
            if (parts[p].kind != PartKind::kPython) continue;
            ++calls;
            ASSERT_EQ(parts[p + 1].kind, PartKind::kPythonOutput);
            EXPECT_EQ(use_calculator(parts[p].text), parts[p + 1].text) << parts[p].text;
          }
        }
      }
    EXPECT_GE(calls, 4 * 180);
  }
}

}  // namespace
}  // namespace nb
