#include "evals/core/microworld.hpp"

#include <gtest/gtest.h>

#include <set>

#include "evals/core/task_table.hpp"
#include "evals/evaluate.hpp"
#include "tests/evals/support/toy.hpp"

namespace nb {
namespace {

TEST(Microworld, AllFourTasksRunThroughTheLoops) {
  const EvalContext context = test::small_world(24);
  ASSERT_TRUE(preflight(context).has_value());
  auto model = test::toy_model();
  const auto results = evaluate(context, model);
  ASSERT_TRUE(results.has_value()) << results.error().message;
  ASSERT_EQ(results->size(), 4u);
  for (const EvalResult& result : *results) {
    EXPECT_EQ(result.items.size(), 24u) << result.task;
    std::set<std::string> ids;
    for (const ItemRecord& item : result.items) ids.insert(item.id);
    EXPECT_EQ(ids.size(), 24u) << result.task;
    EXPECT_TRUE(items_text(result.items).has_value()) << result.task;
  }
}

TEST(Microworld, ChanceIsTheMeanOfOneOverChoices) {
  for (const Task& task : test::tasks_of("mw")) {
    const auto data = microworld_task_data(*task.core, test::small_world(24).microworld);
    ASSERT_TRUE(data.has_value()) << data.error().message;
    double sum = 0;
    for (const CoreItem& item : data->items)
      sum += item.choices.empty() ? 0.0 : 1.0 / static_cast<double>(item.choices.size());
    EXPECT_NEAR(data->baseline_percent, 100.0 * sum / static_cast<double>(data->items.size()), 1e-9)
        << task.id;
  }
}

TEST(Microworld, GoldIsSpreadOverThePlaces) {
  for (const Task& task : test::tasks_of("mw")) {
    if (task.core->type == CoreTaskType::kLanguageModelling) continue;
    const auto data = *microworld_task_data(*task.core, {});
    std::map<int, std::size_t> places;
    for (const CoreItem& item : data.items) ++places[item.gold];
    for (const auto& [gold, count] : places)
      EXPECT_LT(count, data.items.size() * 3 / 4) << task.id << " " << gold;
    EXPECT_GE(places.size(), 2u) << task.id;
  }
}

TEST(Microworld, AnotherSeedIsAnotherWorld) {
  const CoreTask& task = *find_core_task("mw/facts");
  MicroworldSettings other = test::small_world(24).microworld;
  other.seed += 1;
  const auto a = *microworld_task_data(task, test::small_world(24).microworld),
             b = *microworld_task_data(task, other);
  EXPECT_NE(a.items.front().id, b.items.front().id);
}

TEST(Microworld, SettingsOutOfRangeAreNamed) {
  MicroworldSettings settings;
  settings.people = -3;
  const auto data = microworld_task_data(*find_core_task("mw/facts"), settings);
  ASSERT_FALSE(data.has_value());
  EXPECT_NE(data.error().message.find("microworld"), std::string::npos) << data.error().message;
}

}  // namespace
}  // namespace nb
