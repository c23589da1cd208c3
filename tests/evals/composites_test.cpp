#include "evals/composites.hpp"

#include <gtest/gtest.h>

#include <set>

#include "evals/base/eval_metrics.hpp"
#include "evals/task_registry.hpp"

namespace nb {
namespace {

std::set<std::string> names_of(const std::vector<std::string>& sets) {
  const auto tasks = expand_tasks(sets, "");
  EXPECT_TRUE(tasks.has_value());
  std::vector<EvalResult> results;
  for (const Task& task : *tasks) {
    EvalResult result;
    result.task = task.id;
    result.items.resize(2);
    result.items_expected = 2;
    result.metrics = accuracy_metrics(task.id, result.items, 0);
    results.push_back(std::move(result));
  }
  std::set<std::string> names;
  for (const EvalResult& composite : composites(results, {})) names.insert(composite.task);
  return names;
}

TEST(Composites, OfBothKindsOfTasks) {
  EXPECT_EQ(names_of({"mw"}), std::set<std::string>{});
  EXPECT_EQ(names_of({"core"}), std::set<std::string>{"core"});
  EXPECT_EQ(names_of({"chat"}), std::set<std::string>{"chatcore"});
  EXPECT_EQ(names_of({"mw_chat"}), std::set<std::string>{"mw/chatcore"});
  EXPECT_EQ(names_of({"core", "chat_with_spellingbee", "mw"}),
            (std::set<std::string>{"core", "chatcore", "chatcore_with_spellingbee"}));
}

}  // namespace
}  // namespace nb
