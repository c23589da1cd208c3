#include "evals/item_texts.hpp"

#include <gtest/gtest.h>

#include "evals/base/evaluator.hpp"
#include "evals/evaluate.hpp"
#include "evals/task_registry.hpp"
#include "tests/evals/support/toy.hpp"

namespace nb {
namespace {

std::vector<ItemName> names_of(const Evaluator& evaluator) {
  std::vector<ItemName> names;
  for (std::size_t i = 0; i < evaluator.size(); ++i)
    names.push_back({evaluator.item_id(i), "", prompt_hash(evaluator.prompts(i))});
  return names;
}

constexpr const char* kWorldTasks[] = {"mw/facts",    "mw/cloze", "mw/agreement", "mw/choice",
                                       "mw/arc_easy", "mw/gsm8k", "mw/humaneval", "mw/spellingbee"};

// mw/humaneval too: to look at a problem takes no sandbox.
TEST(ItemTexts, OfTheSameWorldAreThoseThatWereScored) {
  for (const char* id : kWorldTasks) {
    SCOPED_TRACE(id);
    EvalContext context = test::small_world(8);
    context.only_looked_at = true;
    const Task& task = *find_task(id);
    const auto evaluator = *load_evaluator(task, context);
    std::vector<ItemName> names = names_of(*evaluator);
    std::reverse(names.begin(), names.end());
    const auto texts = item_texts(task, context, names);
    ASSERT_TRUE(texts) << texts.error().message;
    ASSERT_EQ(texts->size(), names.size());
    const std::size_t last = names.size() - 1;
    for (std::size_t i = 0; i < names.size(); ++i) {
      const ItemText& text = (*texts)[i];
      EXPECT_EQ(text.warning, "");
      EXPECT_EQ(text.prompts, evaluator->prompts(last - i));
      EXPECT_EQ(text.name, evaluator->public_id(last - i));
      EXPECT_FALSE(text.question.empty());
      EXPECT_FALSE(text.reference.empty());
    }
  }
}

TEST(ItemTexts, AChoicesReferenceIsTheRightOne) {
  const EvalContext context = test::small_world(8);
  const Task& task = *find_task("mw/facts");
  const auto evaluator = *load_evaluator(task, context);
  const auto texts = *item_texts(task, context, names_of(*evaluator));
  for (std::size_t i = 0; i < texts.size(); ++i) {
    ASSERT_GT(texts[i].choices.size(), 1U);
    EXPECT_EQ(texts[i].reference, texts[i].choices[evaluator->gold(i).request]);
    // The question without the examples in front of it.
    EXPECT_TRUE(texts[i].prompts[0].find(texts[i].question) != std::string::npos);
  }
}

TEST(ItemTexts, OfAnotherWorldAreNotShownForThoseThatWereScored) {
  EvalContext context = test::small_world(8);
  const Task& task = *find_task("mw/facts");
  const auto names = names_of(**load_evaluator(task, context));
  context.microworld.seed += 1;
  const auto texts = item_texts(task, context, names);
  ASSERT_TRUE(texts) << texts.error().message;
  std::size_t unknown = 0;
  for (const ItemText& text : *texts)
    if (text.is_empty()) {
      ++unknown;
      EXPECT_TRUE(text.warning.starts_with("the data are not what was scored: none of the "))
          << text.warning;
    }
  EXPECT_GT(unknown, 0U);
}

TEST(ItemTexts, AnotherPromptOfTheSameItemIsShownWithAWarning) {
  EvalContext context = test::small_world(8);
  const Task& task = *find_task("mw/facts");
  const auto names = names_of(**load_evaluator(task, context));
  context.settings.num_fewshot = 1;
  const auto texts = item_texts(task, context, names);
  ASSERT_TRUE(texts) << texts.error().message;
  for (const ItemText& text : *texts) {
    EXPECT_FALSE(text.question.empty());
    EXPECT_TRUE(text.warning.starts_with("the prompt is not the one that was scored"))
        << text.warning;
  }
}

TEST(ItemTexts, MissingDataAreAnError) {
  EvalContext context;
  context.data_dir = "/nowhere";
  const std::vector<ItemName> names{{"0123456789abcdef", "", ""}};
  const auto texts = item_texts(*find_task("mmlu"), context, names);
  ASSERT_FALSE(texts);
  EXPECT_NE(texts.error().message.find("mmlu"), std::string::npos) << texts.error().message;
}

}  // namespace
}  // namespace nb
