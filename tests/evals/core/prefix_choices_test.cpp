// Choices that begin others, against tests/golden/prefix_choices.py: an independent reading of
// nanochat's core_eval.py, with Python's min() and torch's mean of nothing.
#include <gtest/gtest.h>

#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "evals/base/choice.hpp"
#include "evals/core/grade.hpp"
#include "evals/core/spans.hpp"
#include "tests/evals/support/toy.hpp"
#include "tests/support/chat_tokenizer.hpp"

namespace nb {
namespace {

const Json& golden() {
  static const Json json =
      read_json(std::filesystem::path(NB_SOURCE_DIR) / "tests/golden/prefix_choices.json").value();
  return json;
}

float loss_of(const Json& value) {
  if (value.is_number()) return value.get<float>();
  return value == "nan" ? std::numeric_limits<float>::quiet_NaN()
                        : std::numeric_limits<float>::infinity();
}

FakeLanguageModel golden_model() {
  return FakeLanguageModel(
      test::byte_tokenizer(), 4096, [](std::span<const int> before, int token) {
        const int sum = 3 * before.back() + 7 * token + 5 * static_cast<int>(before.size());
        return FakeScore{-static_cast<float>(sum % 17) / 8.0f, token};
      });
}

ItemRecord record_of(const Json& choices, std::size_t gold) {
  CoreTask task;
  task.id = "golden";
  auto model = golden_model();
  const Json row{{"query", "Q:"}, {"choices", choices}, {"gold", gold}};
  const auto result = test::evaluate_core(
      task, test::task_data(row.dump(), CoreTaskType::kMultipleChoice), {}, model);
  EXPECT_TRUE(result.has_value()) << result.error().message;
  return result->items.at(0);
}

TEST(PrefixChoices, LossesInEveryOrderArePickedAsPythonDoes) {
  ASSERT_GT(golden().at("min").size(), 40u);
  for (const Json& row : golden().at("min")) {
    std::vector<float> means;
    for (const Json& loss : row.at("losses")) means.push_back(-loss_of(loss));
    EXPECT_EQ(best_choice(means), row.at("index").get<std::size_t>()) << row.dump();
  }
}

TEST(PrefixChoices, ItemsInEveryOrderArePredictedAsTheReferenceDoes) {
  for (const Json& item : golden().at("items")) {
    SCOPED_TRACE(item.dump());
    for (std::size_t gold = 0; gold < item.at("choices").size(); ++gold) {
      const ItemRecord record = record_of(item.at("choices"), gold);
      EXPECT_EQ(record.prediction, std::to_string(item.at("prediction").get<int>()));
      EXPECT_EQ(record.ok, item.at("prediction") == gold);
    }
  }
}

TEST(PrefixChoices, WhatNoModelDecidesIsNamed) {
  for (const Json& item : golden().at("items")) {
    SCOPED_TRACE(item.dump());
    std::size_t shortest = std::string::npos;
    for (const Json& choice : item.at("choices"))
      shortest = std::min(shortest, choice.get<std::string>().size());
    // <|bos|>, "Q:" and " " come before the choice; the spans begin after the shortest one or not.
    const bool has_empty = item.at("start").get<std::size_t>() == 4 + shortest;
    for (std::size_t gold = 0; gold < item.at("choices").size(); ++gold) {
      const std::string fate = item.at("fate").at(gold);
      const ItemRecord record = record_of(item.at("choices"), gold);
      EXPECT_EQ(record.reason, !has_empty        ? ""
                               : fate == "right" ? kAlwaysRight
                               : fate == "wrong" ? kAlwaysWrong
                                                 : kNoTokens);
      EXPECT_EQ(record.log_probs.empty(), has_empty);
    }
  }
}

TEST(PrefixChoices, AreCountedOnlyWhereThereAreAny) {
  CoreTask task;
  task.id = "toy";
  const auto metrics_of = [&](const std::string& rows) {
    auto model = golden_model();
    return test::evaluate_core(task, test::task_data(rows, CoreTaskType::kMultipleChoice), {},
                               model)
        ->metrics;
  };
  const std::string plain = R"({"query": "a", "choices": ["x", "y"], "gold": 0})";
  EXPECT_EQ(metrics_of(plain).size(), 2u);
  const auto metrics = metrics_of(plain + "\n" +
                                  R"({"query": "a", "choices": ["x", "xy"], "gold": 0}
{"query": "b", "choices": ["x", "xy"], "gold": 1}
{"query": "c", "choices": ["xy", "x"], "gold": 1})");
  ASSERT_EQ(metrics.size(), 4u);
  EXPECT_EQ(metrics[2].name, "toy/always_right");
  EXPECT_EQ(*metrics[2].value, 1);
  EXPECT_EQ(metrics[3].name, "toy/always_wrong");
  EXPECT_EQ(*metrics[3].value, 2);
  EXPECT_EQ(metrics[3].n, 4);
  EXPECT_EQ(metrics[3].direction, Direction::kNone);
}

}  // namespace
}  // namespace nb
