// MMLU by subject: parts that are asked for alone, and the table of all.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "evals/base/part_metrics.hpp"
#include "evals/chat/mmlu_subjects.hpp"
#include "evals/evaluate.hpp"
#include "evals/models/built_in_models.hpp"
#include "evals/task_registry.hpp"
#include "model/data/microworld_chat.hpp"
#include "model/data/tasks/multiple_choice.hpp"
#include "tests/evals/support/toy.hpp"
#include "tests/support/chat_tokenizer.hpp"
#include "tests/support/data_dir.hpp"

namespace nb {
namespace {

EvalResult asked_by_chance(const std::string& task, std::int64_t items = 60) {
  EvalContext context = test::small_world(items);
  context.settings.tasks = {task};
  BuiltInModel model(BuiltInKind::kChance, test::byte_tokenizer());
  const auto results = evaluate(context, model);
  EXPECT_TRUE(results.has_value()) << results.error().message;
  return results ? results->at(0) : EvalResult{};
}

TEST(Subjects, TheirTableAddsUpToTheWhole) {
  const EvalResult whole = asked_by_chance("mw/mmlu");
  double right = 0;
  std::int64_t items = 0;
  std::vector<std::string> subjects;
  for (const Metric& metric : whole.metrics) {
    if (part_of(metric.name, "mw/mmlu").empty()) continue;
    EXPECT_EQ(metric.task, "mw/mmlu");
    EXPECT_EQ(metric.name, "mw/mmlu/" + std::string(part_of(metric.name, "mw/mmlu")) + "/accuracy");
    subjects.emplace_back(part_of(metric.name, "mw/mmlu"));
    right += *metric.value * static_cast<double>(metric.n);
    items += metric.n;
  }
  EXPECT_TRUE(std::ranges::is_sorted(subjects));
  EXPECT_GE(subjects.size(), 4u);
  EXPECT_EQ(items, std::ssize(whole.items));
  EXPECT_NEAR(right, *whole.metrics[0].value * static_cast<double>(items), 1e-9);
}

TEST(Subjects, OneThatIsAskedAloneHasTheItemsAndScoreOfItsRow) {
  const EvalResult whole = asked_by_chance("mw/mmlu");
  std::int64_t items = 0;
  for (const std::string_view subject : microworld_subjects()) {
    const EvalResult part = asked_by_chance("mw/mmlu:" + std::string(subject));
    const std::string row = "mw/mmlu/" + std::string(subject) + "/accuracy";
    const auto metric = std::ranges::find(whole.metrics, row, &Metric::name);
    ASSERT_NE(metric, whole.metrics.end()) << row;
    EXPECT_EQ(part.metrics.at(0).name, "mw/mmlu:" + std::string(subject) + "/accuracy");
    EXPECT_EQ(part.metrics.at(0).value, metric->value) << subject;
    EXPECT_EQ(std::ssize(part.items), metric->n) << subject;
    EXPECT_TRUE(std::ranges::none_of(
        part.metrics, [&](const Metric& m) { return !part_of(m.name, part.task).empty(); }));
    items += metric->n;
  }
  EXPECT_EQ(items, std::ssize(whole.items));
}

TEST(Subjects, OneWithoutQuestionsIsAnError) {
  EvalContext context = test::small_world(2);
  std::size_t errors = 0;
  for (const std::string_view subject : microworld_subjects()) {
    context.settings.tasks = {"mw/mmlu:" + std::string(subject)};
    const auto loaded = preflight(context);
    if (loaded) continue;
    ++errors;
    EXPECT_EQ(loaded.error().message,
              context.settings.tasks[0] + ": there is no question of this subject");
  }
  EXPECT_GE(errors, microworld_subjects().size() - 2);
}

TEST(Subjects, StandardErrorIsThatOfAShare) {
  Metric metric;
  metric.value = 0.25;
  metric.n = 17;
  // sqrt(0.25 · 0.75 / 16), lm-evaluation-harness's mean_stderr.
  EXPECT_DOUBLE_EQ(standard_error(metric).value(), 0.10825317547305482);
  metric.n = 1;
  EXPECT_FALSE(standard_error(metric).has_value());
}

TEST(Subjects, TheTableOfNamesIsThatOfTheData) {
  NB_NEEDS_DATA();
  const auto items = read_mmlu(test::data_dir() / "mmlu/jsonl/test.jsonl");
  if (!items) GTEST_SKIP() << "skipped: no data";
  std::set<std::string_view> found;
  for (const ChoiceItem& item : *items) found.insert(item.subject);
  const auto named = mmlu_subjects();
  EXPECT_EQ(found, std::set<std::string_view>(named.begin(), named.end()));
  EXPECT_EQ(named.size(), 57u);
}

}  // namespace
}  // namespace nb
