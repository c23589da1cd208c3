#include "harness/remote/method.hpp"

#include <gtest/gtest.h>

#include "evals/task_registry.hpp"

namespace nb::test {
namespace {

// One of each kind: choices, continuations, letters, texts.
std::vector<Task> tasks(std::vector<std::string> names = {"copa", "lambada_openai", "chat_arc_easy",
                                                          "gsm8k"}) {
  std::vector<Task> found;
  for (const std::string& name : names)
    if (const Task* task = find_task(name)) found.push_back(*task);
  return found;
}

ServerFacts all() {
  ServerFacts facts;
  facts.host = "gpu:8000";
  facts.dialect = Dialect::kPromptLogprobs;
  facts.letters = LetterWay::kAllowedTokens;
  return facts;
}
ServerFacts no_scores() {
  ServerFacts facts = all();
  facts.dialect.reset();
  facts.why_no_scores = "P3: echo: 1 entry of prompt log-probabilities for 12 tokens";
  return facts;
}

TEST(Method, TheBestRungIsTaken) {
  const auto methods = methods_of(tasks(), all(), "auto");
  ASSERT_TRUE(methods.has_value()) << methods.error().message;
  for (const auto& [task, method] : *methods)
    EXPECT_EQ(method, task == "gsm8k" ? ScoringMethod::kGeneration : ScoringMethod::kPromptLogprobs)
        << task;
}

TEST(Method, WithoutPromptLogProbsChoicesAreRefusedAndTheRestIsNamed) {
  const auto methods = methods_of(tasks(), no_scores(), "auto");
  ASSERT_FALSE(methods.has_value());
  EXPECT_EQ(methods.error().code, ErrorCode::kRun);
  for (const char* part : {"gpu:8000", "P3: echo: 1 entry", "copa cannot be scored", "letters",
                           "greedy", "leave them out"})
    EXPECT_NE(methods.error().message.find(part), std::string::npos) << methods.error().message;
}

// Only the missing log-probabilities were named, and greedy where a chat has none.
TEST(Method, ARefusalOfLettersSaysWhyThereAreNone) {
  ServerFacts facts = no_scores();
  facts.letters = LetterWay::kNone;
  facts.why_no_letters = "letters are no single tokens";
  facts.by_chat = true;
  const auto methods = methods_of(tasks({"chat_arc_easy"}), facts, "auto");
  ASSERT_FALSE(methods.has_value());
  EXPECT_NE(methods.error().message.find(
                "1 entry of prompt log-probabilities for 12 tokens) and holds no answer to letters "
                "(letters are no single tokens): chat_arc_easy cannot be scored; left: "
                "generation (texts)"),
            std::string::npos)
      << methods.error().message;
}

TEST(Method, LowerRungsScoreWhatTheyCan) {
  std::vector<Task> others;
  for (const Task& task : tasks())
    if (task.id != "copa") others.push_back(task);
  const auto methods = methods_of(others, no_scores(), "auto");
  ASSERT_TRUE(methods.has_value()) << methods.error().message;
  for (const Task& task : others) {
    const ScoringMethod expected = task.kind == kLetterTask ? ScoringMethod::kLetters
                                   : task.kind == kTextTask ? ScoringMethod::kGeneration
                                                            : ScoringMethod::kGreedy;
    EXPECT_EQ(methods->at(task.id), expected) << task.id;
  }
}

TEST(Method, AForcedMethodMustFit) {
  const auto refused = methods_of(tasks({"copa"}), all(), "letters");
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, ErrorCode::kBadInput);
  EXPECT_NE(refused.error().message.find("copa is scored by prompt_logprobs only"),
            std::string::npos)
      << refused.error().message;
}

}  // namespace
}  // namespace nb::test
