#include "evals/base/eval_result.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "evals/base/eval_metrics.hpp"

namespace nb {
namespace {

TEST(AddToRecord, KeepsOrderAndAllKeys) {
  EvalResult first, second;
  first.task = "copa";
  first.metrics = {task_metric("copa", "accuracy", 0.5, 4), task_metric("copa", "centred", 0, 4)};
  first.comparability = {{"copa/items", "a"}, {"tokenizer", "t"}};
  second.task = "core";
  second.metrics = {task_metric("core", "core", 0.25, 0)};
  second.comparability = {{"core/tasks", "b"}, {"tokenizer", "t"}};
  second.environment = {{"sandbox", "namespaces"}};
  Record record;
  add_to_record(std::vector<EvalResult>{first, second}, record);
  ASSERT_EQ(record.metrics.size(), 3u);
  EXPECT_EQ(record.metrics[0].name, "copa/accuracy");
  EXPECT_EQ(record.metrics[2].task, "core");
  EXPECT_EQ(record.comparability.size(), 3u);
  EXPECT_EQ(record.comparability.at("core/tasks"), "b");
  EXPECT_EQ((*record.environment)["sandbox"], "namespaces");
}

}  // namespace
}  // namespace nb
