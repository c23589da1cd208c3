// CORE end to end against tests/golden/core_golden.py, an independent reading of nanochat's
// core_eval.py.
#include <gtest/gtest.h>

#include <algorithm>

#include "evals/core/grade.hpp"
#include "evals/core/items.hpp"
#include "evals/core/prompt.hpp"
#include "evals/core/spans.hpp"
#include "tests/evals/support/toy.hpp"

namespace nb {
namespace {

struct Case {
  explicit Case(const Json& golden) : json(golden) {
    const auto kind = golden.at("type").get<std::string>();
    for (const auto type :
         {CoreTaskType::kMultipleChoice, CoreTaskType::kSchema, CoreTaskType::kLanguageModelling})
      if (kind == name(type)) task.type = type;
    delimiter = golden.at("delimiter").get<std::string>();
    task.id = "toy";
    task.delimiter = delimiter;
    task.shots = golden.at("shots").get<int>();
    settings.max_per_task = golden.at("max_per_task").get<std::int64_t>();
    settings.few_shot_seed = golden.at("few_shot_seed").get<std::uint64_t>();
    std::string jsonl;
    for (const auto& row : golden.at("rows")) jsonl += row.get<std::string>() + "\n";
    data = test::task_data(jsonl, task.type, golden.at("baseline").get<double>());
    kept = shuffled_and_cropped(data.items.size(), settings.shuffle_seed, settings.max_per_task);
  }

  std::vector<std::string> prompts(std::size_t index) const {
    std::vector<const CoreItem*> examples;
    for (const std::size_t position :
         few_shot_positions(kept.size(), index, task.shots, settings.few_shot_seed))
      examples.push_back(&data.items[kept[position]]);
    return render_prompts(data.items[kept[index]], examples, task.type, task.delimiter);
  }

  const Json& json;
  std::string delimiter;
  CoreTask task;
  EvalSettings settings;
  CoreTaskData data;
  std::vector<std::size_t> kept;
};

class CoreGolden : public testing::TestWithParam<std::size_t> {
 protected:
  const Json& golden() const { return test::core_golden().at("cases").at(GetParam()); }
};

TEST_P(CoreGolden, OrderAndFewShotDrawAreCPythons) {
  const Case c(golden());
  EXPECT_EQ(c.kept, golden().at("order").get<std::vector<std::size_t>>());
  for (std::size_t i = 0; i < c.kept.size(); ++i)
    EXPECT_EQ(few_shot_positions(c.kept.size(), i, c.task.shots, c.settings.few_shot_seed),
              golden().at("items").at(i).at("examples").get<std::vector<std::size_t>>())
        << "item " << i;
}

TEST_P(CoreGolden, PromptsEqual) {
  const Case c(golden());
  for (std::size_t i = 0; i < c.kept.size(); ++i)
    EXPECT_EQ(c.prompts(i),
              golden().at("items").at(i).at("prompts").get<std::vector<std::string>>())
        << "item " << i;
}

TEST_P(CoreGolden, TokensAndSpansEqual) {
  const Case c(golden());
  const Tokenizer& tokenizer = test::toy_tokenizer();
  for (std::size_t i = 0; i < c.kept.size(); ++i) {
    const Json& item = golden().at("items").at(i);
    const auto prompts = c.prompts(i);
    auto requests = spans_of(tokenizer.encode_batch(prompts, tokenizer.bos()), c.task.type);
    ASSERT_TRUE(requests.has_value()) << requests.error().message;
    ASSERT_EQ(requests->size(), item.at("tokens").size());
    for (std::size_t k = 0; k < requests->size(); ++k) {
      ScoreRequest& request = (*requests)[k];
      ASSERT_TRUE(cut_left(request, golden().at("context_length").get<std::int64_t>()).has_value());
      EXPECT_EQ(request.tokens, item.at("tokens").at(k).get<std::vector<int>>())
          << "item " << i << " choice " << k;
      EXPECT_EQ(request.start, item.at("starts").at(k).get<std::size_t>())
          << "item " << i << " choice " << k;
      EXPECT_EQ(request.end, item.at("ends").at(k).get<std::size_t>())
          << "item " << i << " choice " << k;
    }
  }
}

TEST_P(CoreGolden, ScoresAndPredictionsEqual) {
  const Case c(golden());
  EvalContext context;
  context.settings = c.settings;
  FakeLanguageModel model = test::toy_model(golden().at("context_length").get<std::int64_t>());
  const auto result = test::evaluate_core(c.task, c.data, context, model);
  ASSERT_TRUE(result.has_value()) << result.error().message;
  ASSERT_EQ(result->items.size(), golden().at("items").size());
  for (std::size_t i = 0; i < result->items.size(); ++i) {
    const Json& want = golden().at("items").at(i);
    const ItemRecord& got = result->items[i];
    EXPECT_EQ(got.id, want.at("id").get<std::string>()) << "item " << i;
    EXPECT_EQ(got.ok, want.at("ok").get<bool>()) << "item " << i;
    if (c.task.type != CoreTaskType::kLanguageModelling) {
      EXPECT_EQ(got.prediction, std::to_string(want.at("prediction").get<int>())) << "item " << i;
    }
    bool has_nan = false;
    for (const Json& mean : want.at("mean_log_probs")) has_nan = has_nan || mean.is_null();
    if (has_nan) {
      EXPECT_TRUE(got.log_probs.empty()) << "item " << i;
      EXPECT_TRUE(got.reason.starts_with(kNoTokens)) << got.reason << "item " << i;
    } else {
      EXPECT_EQ(got.log_probs, want.at("mean_log_probs").get<std::vector<float>>()) << "item " << i;
    }
  }
  const bool any_decided =
      std::any_of(result->items.begin(), result->items.end(),
                  [](const ItemRecord& item) { return item.reason.starts_with(kNoTokens); });
  ASSERT_EQ(result->metrics.size(),
            2u + (golden().at("cut").get<bool>() ? 1 : 0) + (any_decided ? 2 : 0));
  EXPECT_EQ(result->metrics[0].name, "toy/accuracy");
  EXPECT_EQ(*result->metrics[0].value, golden().at("accuracy").get<double>());
  EXPECT_EQ(result->metrics[1].name, "toy/centred");
  EXPECT_DOUBLE_EQ(*result->metrics[1].value, golden().at("centred").get<double>());
  EXPECT_EQ(result->comparability.at("toy/items"), golden().at("items_hash").get<std::string>());
  EXPECT_EQ(result->comparability.at("toy/prompts"),
            golden().at("prompts_hash").get<std::string>());
  EXPECT_EQ(result->comparability.at("toy/context") != "whole", golden().at("cut").get<bool>());
}

INSTANTIATE_TEST_SUITE_P(
    Cases, CoreGolden, testing::Range<std::size_t>(0, 9), [](const auto& which) {
      return test::core_golden().at("cases").at(which.param).at("name").template get<std::string>();
    });

TEST(CoreGoldenFile, HoldsAsManyCasesAsAreRun) {
  EXPECT_EQ(test::core_golden().at("cases").size(), 9u);
}

}  // namespace
}  // namespace nb
