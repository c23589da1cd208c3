#include "evals/core/composite.hpp"

#include <gtest/gtest.h>

#include "evals/base/eval_metrics.hpp"
#include "evals/core/task_table.hpp"
#include "evals/task_registry.hpp"
#include "tests/evals/support/toy.hpp"

namespace nb {
namespace {

EvalResult result_of(std::string_view task, double centred) {
  EvalResult result;
  result.task = task;
  const double chance = 0.01 * find_core_task(task)->baseline_v1;
  result.metrics = {task_metric(task, "accuracy", chance + centred * (1 - chance), 100)};
  result.comparability = {{result.task + "/items", "x"}};
  return result;
}

// Centred values 0, 1, 2, …: of 22 tasks their mean is 10.5.
std::vector<EvalResult> results_of_set(const std::string& set) {
  std::vector<EvalResult> results;
  for (const Task& task : test::tasks_of(set))
    results.push_back(result_of(task.id, static_cast<double>(results.size())));
  return results;
}

TEST(CoreComposite, IsTheMeanOfThe22) {
  const auto made = core_composites(results_of_set("core"), {});
  ASSERT_EQ(made.size(), 1u);
  EXPECT_EQ(made[0].task, "core");
  EXPECT_EQ(made[0].metrics.at(0).name, "core");
  EXPECT_NEAR(*made[0].metrics.at(0).value, 10.5, 1e-12);
}

TEST(CoreComposite, TheOtherBaselinesStandBesideItUnjudged) {
  const auto made = core_composites(results_of_set("core"), {});
  ASSERT_EQ(made.at(0).metrics.size(), 2u);
  const Metric& other = made[0].metrics[1];
  EXPECT_EQ(other.name, "core_v2");
  EXPECT_EQ(other.direction, Direction::kNone);
  EXPECT_NE(*other.value, 10.5);  // three tasks have another baseline
  EvalSettings v2;
  v2.baselines = "v2";
  const auto turned = core_composites(results_of_set("core"), v2);
  EXPECT_EQ(turned.at(0).metrics.at(1).name, "core_v1");
  EXPECT_EQ(turned[0].metrics[0].value, other.value);
}

TEST(CoreComposite, ATaskWithoutAScoreTakesItsScoreAway) {
  auto results = results_of_set("core");
  results[5].metrics[0] = without_value(results[5].metrics[0], "1 of 100 items has no score");
  const auto made = core_composites(results, {});
  for (const Metric& metric : made.at(0).metrics) {
    EXPECT_FALSE(metric.value) << metric.name;
    EXPECT_EQ(metric.reason_if_null,
              "CORE needs a score of each task; none: copa (the model's numbers are not finite)");
  }
}

TEST(CoreComposite, ATaskOfWhichShardsAreMissingIsMissing) {
  auto results = results_of_set("core");
  results[4].metrics.clear();
  const auto made = core_composites(results, {});
  EXPECT_EQ(made.at(0).metrics.at(0).reason_if_null,
            "CORE needs all 22 tasks; missing: arc_challenge");
}

TEST(CoreComposite, IsNullWithTheReasonWhenTasksAreMissing) {
  auto results = results_of_set("core");
  results.erase(results.begin() + 1);  // jeopardy
  results.pop_back();                  // language identification
  const auto made = core_composites(results, {});
  ASSERT_EQ(made.size(), 1u);
  EXPECT_FALSE(made[0].metrics.at(0).value.has_value());
  EXPECT_EQ(made[0].metrics.at(0).reason_if_null,
            "CORE needs all 22 tasks; missing: jeopardy, bigbench_language_identification");
}

TEST(CoreComposite, ManyMissingTasksAreCountedNotListed) {
  const std::vector<EvalResult> one = {result_of("copa", 100)};
  EXPECT_EQ(core_composites(one, {}).at(0).metrics.at(0).reason_if_null,
            "CORE needs all 22 tasks; missing: hellaswag_zeroshot, jeopardy, bigbench_qa_wikidata, "
            "arc_easy and 17 more");
}

TEST(CoreComposite, ApproximationsMakeAnotherMetric) {
  const auto made = core_composites(results_of_set("core_with_hellaswag_approx"), {});
  ASSERT_EQ(made.size(), 1u);
  EXPECT_EQ(made[0].metrics.at(0).name, "core_with_hellaswag_approx");
  EXPECT_NEAR(*made[0].metrics.at(0).value, 10.5, 1e-12);
}

TEST(CoreComposite, RealTaskIsTakenBeforeItsApproximation) {
  auto results = results_of_set("core");
  results.insert(results.begin(), result_of("hellaswag_approx", 1000));
  const auto made = core_composites(results, {});
  EXPECT_EQ(made.at(0).metrics.at(0).name, "core");
  EXPECT_NEAR(*made[0].metrics.at(0).value, 10.5, 1e-12);
}

TEST(CoreComposite, CroppedTasksMakeAnEstimate) {
  EvalSettings settings;
  for (const std::int64_t count : {1, 500}) {
    settings.max_per_task = count;
    EXPECT_EQ(core_composites(results_of_set("core"), settings).at(0).task, "core_estimate");
  }
  EXPECT_EQ(core_composites(results_of_set("core_with_hellaswag_approx"), settings).at(0).task,
            "core_estimate_with_hellaswag_approx");
}

TEST(CoreComposite, GeneratedTasksMakeNone) {
  EXPECT_TRUE(core_composites(results_of_set("mw"), {}).empty());
}

TEST(CoreComposite, ComparabilityFollowsItsTasks) {
  auto results = results_of_set("core");
  const auto before = core_composites(results, {}).at(0).comparability;
  results[3].comparability["arc_easy/items"] = "y";
  const auto after = core_composites(results, {}).at(0).comparability;
  EXPECT_EQ(before.at("core/task_set"), after.at("core/task_set"));
  EXPECT_NE(before.at("core/tasks"), after.at("core/tasks"));
}

}  // namespace
}  // namespace nb
