#include "evals/chat/composite.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "evals/base/eval_metrics.hpp"
#include "evals/task_registry.hpp"

namespace nb {
namespace {

struct Count {
  const char* task;
  std::int64_t right, n;
  double baseline_percent;
};

EvalResult result_of(const Count& count) {
  EvalResult result;
  result.task = count.task;
  result.items.resize(static_cast<std::size_t>(count.n));
  for (std::int64_t i = 0; i < count.right; ++i)
    result.items[static_cast<std::size_t>(i)].ok = true;
  result.metrics = accuracy_metrics(count.task, result.items, count.baseline_percent);
  result.comparability = {{std::string(count.task) + "/scorer", "x"}};
  return result;
}

std::vector<EvalResult> results_of(std::vector<std::int64_t> right) {
  const std::vector<Count> all = {
      {"chat_arc_easy", 0, 2376, 25}, {"chat_arc_challenge", 0, 1172, 25},
      {"mmlu", 0, 14042, 25},         {"gsm8k", 0, 1319, 0},
      {"humaneval", 0, 164, 0},       {"spellingbee", 0, 256, 0}};
  std::vector<EvalResult> results;
  for (std::size_t i = 0; i < right.size(); ++i) {
    Count count = all[i];
    count.right = right[i];
    results.push_back(result_of(count));
  }
  return results;
}

std::map<std::string, double> values_of(const std::vector<EvalResult>& results,
                                        const EvalSettings& settings = {}) {
  std::map<std::string, double> values;
  for (const EvalResult& composite : chat_composites(results, settings))
    values[composite.task] = composite.metrics.at(0).value.value();
  return values;
}

TEST(ChatCore, ATaskWithoutAScoreTakesItsScoreAway) {
  auto results = results_of({1, 2, 3, 4, 5});
  results[3].items[0].reason = kNotFinite;
  results[3].metrics = accuracy_metrics("gsm8k", results[3].items, 0);
  const auto made = chat_composites(results, {});
  EXPECT_FALSE(made.at(0).metrics.at(0).value);
  EXPECT_EQ(
      made[0].metrics[0].reason_if_null,
      "chatcore needs a score of each task; none: gsm8k (the model's numbers are not finite)");
}

double rounded(double value) { return std::round(value * 1e4) / 1e4; }

// seeds_golden.json, leideng_chat: counts of four published checkpoints, and the published table.
TEST(ChatCore, RecomputesPublishedValuesFromCountsToFourDecimals) {
  struct Published {
    std::vector<std::int64_t> right;
    double six, five;
  };
  for (const Published& run :
       std::vector<Published>{{{1023, 397, 4771, 31, 12, 252}, 0.2600, 0.1151},
                              {{1015, 406, 4738, 209, 2, 235}, 0.2617, 0.1304},
                              {{1158, 459, 4972, 64, 20, 256}, 0.3024, 0.1629},
                              {{1169, 456, 4937, 273, 3, 255}, 0.3108, 0.1738}}) {
    const auto values = values_of(results_of(run.right));
    EXPECT_EQ(values.size(), 2u);
    EXPECT_EQ(rounded(values.at("chatcore")), run.five);
    EXPECT_EQ(rounded(values.at("chatcore_with_spellingbee")), run.six);
  }
  // 0.0730 and 0.0884 of nanochat's first table (README); MMLU from its four decimals.
  EXPECT_EQ(rounded(values_of(results_of({846, 337, 4368, 33, 11})).at("chatcore")), 0.0730);
  EXPECT_EQ(rounded(values_of(results_of({921, 329, 4425, 60, 14})).at("chatcore")), 0.0884);
}

TEST(ChatCore, SetsAreDifferentMetrics) {
  const auto five = chat_composites(results_of({1, 1, 1, 1, 1}), {});
  ASSERT_EQ(five.size(), 1u);
  EXPECT_EQ(five[0].metrics[0].name, "chatcore");
  EXPECT_EQ(five[0].metrics[0].n, 5);
  const auto six = chat_composites(results_of({1, 1, 1, 1, 1, 1}), {});
  ASSERT_EQ(six.size(), 2u);
  EXPECT_EQ(six[0].comparability, five[0].comparability);
  EXPECT_EQ(six[1].metrics[0].name, "chatcore_with_spellingbee");
  EXPECT_NE(six[1].comparability.at("chatcore_with_spellingbee/task_set"),
            six[0].comparability.at("chatcore/task_set"));
}

TEST(ChatCore, OfTheMicroworldIsAThirdMetric) {
  std::vector<EvalResult> results;
  for (const Count& count : std::vector<Count>{{"mw/arc_easy", 100, 100, 25},
                                               {"mw/arc_challenge", 70, 100, 25},
                                               {"mw/mmlu", 25, 100, 25},
                                               {"mw/gsm8k", 30, 100, 0},
                                               {"mw/humaneval", 20, 100, 0},
                                               {"mw/spellingbee", 50, 100, 0}})
    results.push_back(result_of(count));
  const auto values = values_of(results);
  EXPECT_EQ(values.size(), 1u);
  // (1 + (.70 − .25)/.75 + 0 + .3 + .2 + .5) / 6
  EXPECT_NEAR(values.at("mw/chatcore"), 2.6 / 6, 1e-12);
  results.pop_back();
  EXPECT_EQ(chat_composites(results, {})[0].metrics[0].reason_if_null,
            "mw/chatcore needs all of its 6 tasks; missing: mw/spellingbee");
}

TEST(ChatCore, SubsetsHaveANameOfTheirOwn) {
  EvalSettings settings;
  for (const std::int64_t count : {1, 100}) {
    settings.max_per_task = count;
    EXPECT_TRUE(values_of(results_of({1, 1, 1, 1, 1}), settings).contains("chatcore_estimate"));
  }
}

TEST(ChatCore, MissingTaskMakesItNullWithTheReason) {
  auto results = results_of({1, 1, 1, 1});
  const auto composites = chat_composites(results, {});
  ASSERT_EQ(composites.size(), 1u);
  EXPECT_FALSE(composites[0].metrics[0].value.has_value());
  EXPECT_EQ(composites[0].metrics[0].reason_if_null,
            "chatcore needs all of its 5 tasks; missing: humaneval");
  results[0].metrics.clear();  // other shards have the rest
  EXPECT_EQ(chat_composites(results, {})[0].metrics[0].reason_if_null,
            "chatcore needs all of its 5 tasks; missing: chat_arc_easy, humaneval");
  EXPECT_TRUE(chat_composites({}, {}).empty());
}

TEST(ChatCore, IntervalComesFromTheTasksErrors) {
  const auto metric = chat_composites(results_of({846, 337, 4368, 33, 11}), {})[0].metrics[0];
  // By hand: sqrt(Σ a(1 − a)/(n (1 − r)²)) / 5 = .00604.
  EXPECT_NEAR((*metric.high - *metric.low) / 2 / 1.959964, .0060, .00005);
  EXPECT_NEAR((*metric.high + *metric.low) / 2, *metric.value, 1e-12);
}

TEST(ChatCore, EveryTaskOfTheSetsIsRegistered) {
  for (const ChatCoreSet& set : chat_core_sets())
    for (const std::string_view id : set.tasks) EXPECT_NE(find_task(id), nullptr) << id;
}

}  // namespace
}  // namespace nb
