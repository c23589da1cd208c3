#include "evals/show_prompts.hpp"

#include <gtest/gtest.h>

#include "evals/evaluate.hpp"
#include "evals/task_registry.hpp"
#include "tests/evals/support/toy.hpp"
#include "tests/support/chat_tokenizer.hpp"

namespace nb {
namespace {

std::vector<ShownTask> shown(const EvalContext& context, const Tokenizer& tokenizer,
                             std::int64_t items = 2, std::int64_t context_length = 4096) {
  auto tasks = show_prompts(context, tokenizer, context_length, items);
  EXPECT_TRUE(tasks.has_value()) << tasks.error().message;
  return tasks ? std::move(*tasks) : std::vector<ShownTask>{};
}

// Whatever is shown of a sequence is the prompt that the evaluator names, <|bos|> in front.
TEST(ShowPrompts, PartsOfAScoredItemAreItsPrompts) {
  for (const char* id : {"mw/facts", "mw/agreement", "mw/choice", "mw/cloze"}) {
    EvalContext context = test::small_world(8);
    context.settings.tasks = {id};
    context.settings.num_fewshot = 2;
    const auto evaluator = *load_evaluator(*find_task(id), context);
    const auto tasks = shown(context, test::toy_tokenizer());
    ASSERT_EQ(tasks.size(), 1u);
    EXPECT_EQ(tasks[0].items, 8);
    ASSERT_EQ(tasks[0].shown.size(), 2u);
    for (std::size_t i = 0; i < 2; ++i) {
      const ShownPrompt& item = tasks[0].shown[i];
      const auto prompts = evaluator->prompts(i);
      const std::size_t first =
          prompts.size() - item.requests.size();  // modelling shows the second
      std::size_t golds = 0;
      for (std::size_t k = 0; k < item.requests.size(); ++k) {
        const ShownRequest& request = item.requests[k];
        EXPECT_EQ(item.prompt + request.context + request.scored, "<|bos|>" + prompts[first + k])
            << id;
        EXPECT_EQ(request.is_gold, k == evaluator->gold(i).request);
        EXPECT_GT(request.scored_tokens, 0);
        EXPECT_EQ(request.tokens, std::ssize(test::toy_tokenizer().encode(prompts[first + k])) + 1);
        golds += request.is_gold ? 1 : 0;
      }
      EXPECT_EQ(golds, 1u);
      EXPECT_TRUE(item.answer.empty());
    }
  }
}

TEST(ShowPrompts, AGeneratedItemHasItsPromptAndARightAnswer) {
  EvalContext context = test::small_world(8);
  context.settings.tasks = {"mw/gsm8k", "mw/mmlu"};
  const auto tasks = shown(context, test::byte_tokenizer(), 100);
  ASSERT_EQ(tasks.size(), 2u);
  EXPECT_EQ(tasks[0].shown.size(), 8u);  // no more than there are
  for (const ShownPrompt& item : tasks[0].shown) {
    EXPECT_TRUE(item.prompt.ends_with("<|assistant_start|>")) << item.prompt;
    EXPECT_NE(item.answer.find("#### "), std::string::npos);
    EXPECT_TRUE(item.requests.empty());
  }
  for (const ShownPrompt& item : tasks[1].shown) {
    ASSERT_EQ(item.requests.size(), 4u);
    EXPECT_EQ(item.requests[0].scored, "A");
    EXPECT_EQ(item.requests[0].context, "");
  }
}

TEST(ShowPrompts, APromptThatIsCutSaysSo) {
  EvalContext context = test::small_world(8);
  context.settings.tasks = {"mw/facts"};
  context.settings.num_fewshot = 4;
  const auto tasks = shown(context, test::toy_tokenizer(), 1, 48);
  EXPECT_GT(tasks.at(0).shown.at(0).cut_tokens, 0);
}

}  // namespace
}  // namespace nb
