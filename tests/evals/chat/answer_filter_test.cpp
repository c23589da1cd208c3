#include "evals/chat/answer_filter.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "evals/chat/number_evaluator.hpp"
#include "evals/evaluate.hpp"
#include "evals/models/built_in_models.hpp"
#include "evals/task_registry.hpp"
#include "harness/base/json_io.hpp"
#include "tests/evals/support/toy.hpp"
#include "tests/support/chat_tokenizer.hpp"

namespace nb {
namespace {

using Answer = std::optional<std::string>;

const Json& filter_golden() {
  static const Json json =
      *read_json(std::filesystem::path(NB_SOURCE_DIR) / "tests/golden/answer_filters.json");
  return json;
}
Answer answer_in(const Json& json) {
  return json.is_null() ? Answer() : Answer(json.get<std::string>());
}

// tests/golden/answer_filters.py, with Python's re.
TEST(AnswerFilter, TheLastNumberIsThatOfTheReferencesPattern) {
  for (const Json& one : filter_golden().at("flexible"))
    EXPECT_EQ(last_number(one[0].get<std::string>()), answer_in(one[1])) << one[0];
}

TEST(AnswerFilter, TheMajorityIsThatOfPythonsCounter) {
  for (const Json& one : filter_golden().at("majority")) {
    std::vector<Answer> answers;
    for (const Json& answer : one[0]) answers.push_back(answer_in(answer));
    EXPECT_EQ(majority(answers), answer_in(one[1])) << one[0];
  }
}

ItemRecord filtered(AnswerFilter filter, const std::vector<std::string>& texts,
                    const std::string& gold = "so\n#### 1,800") {
  EvalContext context;
  context.settings.num_samples = std::ssize(texts);
  const NumberEvaluator evaluator("toy:x", "as they come",
                                  {{"id", "row 1", "b", "How much?", gold}}, context, filter);
  return *evaluator.grade(0, texts);
}

TEST(AnswerFilter, FlexibleNeedsNoMarker) {
  EXPECT_FALSE(filtered(AnswerFilter::kStrict, {"It is $1,800."}).ok);
  const ItemRecord record = filtered(AnswerFilter::kFlexible, {"9 * 200, so it is $1,800."});
  EXPECT_TRUE(record.ok);
  EXPECT_EQ(record.prediction, "1800");
  EXPECT_FALSE(filtered(AnswerFilter::kFlexible, {"#### 1800, and 2 more"}).ok);
  EXPECT_EQ(filtered(AnswerFilter::kFlexible, {"none"}).reason, "no answer");
}

TEST(AnswerFilter, MajorityCountsTheSamplesAndNotTheRightOnes) {
  const std::string right = "#### 1800", wrong = "#### 5";
  EXPECT_TRUE(filtered(AnswerFilter::kStrict, {right, wrong, wrong}).ok);  // any of them
  const ItemRecord lost = filtered(AnswerFilter::kMajority, {right, wrong, wrong});
  EXPECT_FALSE(lost.ok);
  EXPECT_EQ(lost.prediction, "5");
  EXPECT_EQ(lost.sample_ok, (std::vector<int>{1, 0, 0}));
  EXPECT_TRUE(filtered(AnswerFilter::kMajority, {right, wrong, right}).ok);
  EXPECT_FALSE(filtered(AnswerFilter::kMajority, {"", right, ""}).ok);  // none wins
}

EvalContext filter_world(const std::string& task) {
  EvalContext context = test::small_world(6);
  context.settings.tasks = {task};
  context.settings.num_samples = 3;
  context.settings.temperature = 0.7;
  return context;
}

TEST(AnswerFilter, IsPartOfTheNameAndOfComparability) {
  std::map<std::string, std::string> extractions;
  for (const char* task : {"mw/gsm8k", "mw/gsm8k:flexible", "mw/gsm8k:majority"}) {
    BuiltInModel model(BuiltInKind::kOracle, test::byte_tokenizer());
    const auto results = evaluate(filter_world(task), model);
    ASSERT_TRUE(results.has_value()) << results.error().message;
    EXPECT_EQ(results->at(0).task, task);
    EXPECT_EQ(results->at(0).metrics.at(0).name, std::string(task) + "/accuracy");
    EXPECT_EQ(results->at(0).metrics.at(0).value, 1.0);
    extractions[task] = results->at(0).comparability.at(std::string(task) + "/extraction");
  }
  EXPECT_EQ(extractions, (std::map<std::string, std::string>{
                             {"mw/gsm8k", "#### number"},
                             {"mw/gsm8k:flexible", "last number, flexible-extract"},
                             {"mw/gsm8k:majority", "majority of 3, #### number"}}));
}

TEST(AnswerFilter, AMajorityNeedsSamplesThatCanDiffer) {
  const auto error = [](std::int64_t samples, double temperature) {
    EvalContext context = filter_world("mw/gsm8k:majority");
    context.settings.num_samples = samples;
    context.settings.temperature = temperature;
    const auto loaded = preflight(context);
    return loaded ? "loaded" : loaded.error().message;
  };
  EXPECT_NE(error(1, 0.7).find("--samples"), std::string::npos) << error(1, 0.7);
  EXPECT_NE(error(4, 0).find("--temperature"), std::string::npos) << error(4, 0);
}

TEST(AnswerFilter, NamesOfVariantsAreChecked) {
  const auto error = [](const std::string& name) {
    const auto tasks = expand_tasks(std::vector{name}, "--task");
    return tasks ? tasks->front().id : tasks.error().message;
  };
  EXPECT_EQ(error("gsm8k:strict"), "gsm8k");
  EXPECT_EQ(error("gsm8k:flexibel"),
            "--task: \"gsm8k:flexibel\": gsm8k has no \"flexibel\"; did you mean \"flexible\"? "
            "(known: strict, flexible, majority)");
  EXPECT_EQ(error("arc_easy:x"),
            "--task: \"arc_easy:x\": arc_easy is evaluated in one way only; write \"arc_easy\"");
  EXPECT_EQ(error("gsm9k:x"),
            "--task: no evaluation task \"gsm9k\"; did you mean \"gsm8k\"? (npubench list tasks)");
  EXPECT_NE(error("mmlu:anatomi").find("did you mean \"anatomy\"?"), std::string::npos);
}

}  // namespace
}  // namespace nb
