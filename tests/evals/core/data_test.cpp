// The real evaluation bundle, where the data folder is there.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <map>

#include "evals/base/eval_metrics.hpp"
#include "evals/core/bundle.hpp"
#include "evals/core/composite.hpp"
#include "evals/core/evaluator.hpp"
#include "evals/core/items.hpp"
#include "evals/core/prompt.hpp"
#include "evals/core/task_table.hpp"
#include "evals/data/manifest.hpp"
#include "evals/evaluate.hpp"
#include "harness/base/csv.hpp"
#include "harness/base/hash.hpp"
#include "tests/evals/support/toy.hpp"
#include "tests/support/data_dir.hpp"

namespace nb {
namespace {

Result<CoreTaskData> load(const CoreTask& task) {
  EvalContext context;
  context.data_dir = test::data_dir();
  return load_core_task(task, context);
}

Result<EvalResult> evaluate_named(const std::string& label, const EvalContext& context,
                                  LanguageModel& model) {
  const Task& task = *find_task(label);
  NB_TRY(const auto evaluator, load_evaluator(task, context));
  return evaluate(task, *evaluator, context, model);
}

std::string unescaped(std::string text) {
  for (std::size_t at; (at = text.find("\\n")) != std::string::npos;) text.replace(at, 2, "\n");
  return text;
}

TEST(Bundle, RowsOfEveryTaskThatIsThereAreComplete) {
  NB_NEEDS_DATA();
  int checked = 0;
  for (const CoreTask& task : core_tasks()) {
    if (task.rows == 0 || task.dataset == "core/hellaswag") continue;
    const auto data = load(task);
    ASSERT_TRUE(data.has_value()) << data.error().message;
    EXPECT_EQ(std::ssize(data->items), task.rows) << task.id;
    ++checked;
  }
  EXPECT_EQ(checked, 22);  // 20 of CORE's, two approximations
}

TEST(Bundle, TableEqualsThePublishedOne) {
  NB_NEEDS_DATA();
  const auto table = read_csv(test::data_dir() / "reference/core_tasks.csv");
  ASSERT_TRUE(table.has_value()) << table.error().message;
  const auto labels = core_labels();
  ASSERT_EQ(table->rows.size(), labels.size());
  for (std::size_t i = 0; i < labels.size(); ++i) {
    const auto cell = [&](const char* column) { return table->rows[i][*table->column(column)]; };
    const CoreTask& task = *find_core_task(labels[i]);
    EXPECT_EQ(cell("label"), task.core_label);
    EXPECT_EQ(cell("type"), name(task.type)) << task.id;
    EXPECT_EQ(std::stoi(cell("num_fewshot")), task.shots) << task.id;
    EXPECT_EQ(unescaped(cell("continuation_delimiter")), task.delimiter) << task.id;
    EXPECT_EQ(std::stoi(cell("rows")), task.rows) << task.id;
    EXPECT_EQ(std::stod(cell("baseline_v1")), task.baseline_v1) << task.id;
    EXPECT_EQ(std::stod(cell("baseline_v2")), task.baseline_v2) << task.id;
    EXPECT_EQ("core/eval_data/" + cell("dataset_uri"), data_manifest().find(task.dataset)->path)
        << task.id;
  }
}

// The bundle's CSV files hold accuracy and centred accuracy of GPT-2's sizes, and CORE as their
// mean.
TEST(Bundle, CentringAndCoreOfTheReferenceModelsAreReproduced) {
  NB_NEEDS_DATA();
  for (const char* model : {"gpt2", "gpt2-medium", "gpt2-large", "gpt2-xl"}) {
    const auto path = test::data_dir() / "core/eval_bundle_meta" /
                      (std::string("openai-community-") + model + ".csv");
    const auto table = read_csv(path);
    ASSERT_TRUE(table.has_value()) << table.error().message;
    double sum = 0;
    int tasks = 0;
    for (const auto& row : table->rows) {
      const std::string label = row.at(0).substr(0, row.at(0).find(' '));
      if (label == "CORE") {
        EXPECT_EQ(tasks, 22);
        EXPECT_NEAR(sum / tasks, std::stod(row.at(2)), 1e-6) << model;
        continue;
      }
      const double value = centred(std::stod(row.at(1)), find_core_task(label)->baseline_v1);
      EXPECT_NEAR(value, std::stod(row.at(2)), 3e-6) << model << " " << label;
      sum += value;
      ++tasks;
    }
  }
}

TEST(Bundle, CoreOfTheFourGpt2SizesIsThePublishedOne) {
  NB_NEEDS_DATA();
  const std::map<std::string, double> published = {{"gpt2", 0.113891},
                                                   {"gpt2-medium", 0.184903},
                                                   {"gpt2-large", 0.214641},
                                                   {"gpt2-xl", 0.256525}};
  for (const auto& [model, core] : published) {
    const auto path =
        test::data_dir() / "core/eval_bundle_meta" / ("openai-community-" + model + ".csv");
    const auto table = read_csv(path);
    ASSERT_TRUE(table.has_value()) << table.error().message;
    std::map<std::string, double> accuracies;
    for (const auto& row : table->rows)
      if (const std::string label = row.at(0).substr(0, row.at(0).find(' ')); label != "CORE")
        accuracies[label] = std::stod(row.at(1));
    const auto value = core_of(accuracies, "v1");
    ASSERT_TRUE(value.has_value()) << model;
    EXPECT_NEAR(*value, core, 1e-6) << model;
  }
}

// 40 models with their task accuracies and both aggregates.
TEST(Bundle, CoreOfEveryPublishedEvaluationIsReproducedWithBothBaselines) {
  NB_NEEDS_DATA();
  int files = 0;
  for (const auto& entry :
       std::filesystem::directory_iterator(test::data_dir() / "core/dclm_evals")) {
    if (entry.path().extension() != ".json") continue;
    const auto json = read_json(entry.path());
    ASSERT_TRUE(json.has_value()) << json.error().message;
    std::map<std::string, double> accuracies;
    for (const auto& [task, value] : json->at("eval_metrics").at("icl").items())
      if (value.is_number()) accuracies[task] = value.get<double>();
    for (const char* version : {"v1", "v2"}) {
      const auto value = core_of(accuracies, version);
      ASSERT_TRUE(value.has_value()) << entry.path();
      EXPECT_NEAR(*value, json->at(std::string("Core_") + version).get<double>(), 1e-6)
          << entry.path() << " " << version;
    }
    ++files;
  }
  EXPECT_EQ(files, 40);
}

// First 20 items of all 22 tasks, on all rows, with GPT-2's tokenizer; the golden's script says how
// an item is written.
TEST(Bundle, DrawsPromptsTokensAndSpansOfTwentyItemsEqualTheIndependentScripts) {
  NB_NEEDS_DATA();
  const auto golden =
      read_json(std::filesystem::path(NB_SOURCE_DIR) / "tests/golden/core_tokens_golden.json");
  ASSERT_TRUE(golden.has_value()) << golden.error().message;
  const auto tokenizer = Tokenizer::load(test::data_dir() / "tokenizers/gpt2");
  ASSERT_TRUE(tokenizer.has_value()) << tokenizer.error().message;
  EXPECT_EQ(golden->size(), 22u);
  EvalContext context;
  context.data_dir = test::data_dir();
  for (const auto& [label, items] : golden->items()) {
    const std::string id = label.starts_with("hellaswag") ? label + "_approx" : label;
    const CoreTask& task = *find_core_task(id);
    const auto data = load(task);
    ASSERT_TRUE(data.has_value()) << data.error().message;
    const auto order = shuffled_and_cropped(data->items.size(), 1337, -1);
    const auto evaluator = CoreEvaluator::create(task, *data, context);
    ASSERT_TRUE(evaluator.has_value()) << evaluator.error().message;
    ASSERT_EQ(items.size(), 20u) << label;
    for (std::size_t i = 0; i < items.size(); ++i) {
      const Json& want = items[i];
      SCOPED_TRACE(label + " item " + std::to_string(i));
      EXPECT_EQ(order[i], want.at(0).get<std::size_t>());
      EXPECT_EQ(few_shot_positions(order.size(), i, task.shots, 1234),
                want.at(1).get<std::vector<std::size_t>>());
      std::string prompts;
      for (const std::string& prompt : (*evaluator)->prompts(i))
        prompts += std::to_string(prompt.size()) + ":" + prompt;
      EXPECT_EQ(sha256_hex(prompts).substr(0, 16), want.at(2).get<std::string>());
      const auto requests = (*evaluator)->requests(i, *tokenizer, 1 << 30);
      ASSERT_TRUE(requests.has_value()) << requests.error().message;
      std::string ids;
      std::vector<std::size_t> starts, ends;
      for (const ScoreRequest& request : requests->scores) {
        ids += fmt::format("{}{}", ids.empty() ? "" : "\n", fmt::join(request.tokens, ","));
        starts.push_back(request.start);
        ends.push_back(request.end);
      }
      EXPECT_EQ(sha256_hex(ids).substr(0, 16), want.at(3).get<std::string>());
      EXPECT_EQ(starts, want.at(4).get<std::vector<std::size_t>>());
      EXPECT_EQ(ends, want.at(5).get<std::vector<std::size_t>>());
    }
  }
}

// tests/golden/core_bundle_golden.py computes the same hashes from the files, independently.
TEST(Bundle, ItemsAndPromptsHashAsTheIndependentScriptSays) {
  NB_NEEDS_DATA();
  const auto golden =
      read_json(std::filesystem::path(NB_SOURCE_DIR) / "tests/golden/core_bundle_golden.json");
  ASSERT_TRUE(golden.has_value()) << golden.error().message;
  const auto tokenizer = Tokenizer::load(test::data_dir() / "tokenizers/gpt2");
  ASSERT_TRUE(tokenizer.has_value()) << tokenizer.error().message;
  FakeLanguageModel model(*tokenizer, 1 << 20, [](std::span<const int>, int token) {
    return FakeScore{-1.0f, token};
  });
  EvalContext context;
  context.data_dir = test::data_dir();
  context.settings.max_per_task = golden->at("max_per_task").get<std::int64_t>();
  EXPECT_EQ(golden->at("tasks").size(), 20u);
  for (const auto& [label, hashes] : golden->at("tasks").items()) {
    const auto result = evaluate_named(label, context, model);
    ASSERT_TRUE(result.has_value()) << result.error().message;
    EXPECT_EQ(result->comparability.at(label + "/items"), hashes.at("items").get<std::string>());
    EXPECT_EQ(result->comparability.at(label + "/prompts"),
              hashes.at("prompts").get<std::string>());
  }
}

// Quirks of the bundle's rows, seen in whole prompts.
TEST(Bundle, PromptsShowTheQuirksOfTheData) {
  NB_NEEDS_DATA();
  const CoreTask& piqa = *find_core_task("piqa");
  const auto data = load(piqa);
  ASSERT_TRUE(data.has_value());
  const auto prompts = render_prompts(data->items.front(), {}, piqa.type, piqa.delimiter);
  EXPECT_EQ(prompts.size(), 2u);
  EXPECT_NE(prompts[0].find("\n\nAnswer: "), std::string::npos) << prompts[0];
}

TEST(Bundle, FirstItemsOfEveryTaskAreScored) {
  NB_NEEDS_DATA();
  auto model = test::toy_model(1 << 20);
  EvalContext context;
  context.data_dir = test::data_dir();
  context.settings.tasks = {"core_with_hellaswag_approx"};
  context.settings.max_per_task = 12;
  const auto results = evaluate(context, model);
  ASSERT_TRUE(results.has_value()) << results.error().message;
  ASSERT_EQ(results->size(), 23u);
  for (std::size_t i = 0; i < 22; ++i)
    EXPECT_EQ((*results)[i].items.size(), 12u) << (*results)[i].task;
  EXPECT_EQ(results->back().task, "core_estimate_with_hellaswag_approx");
  EXPECT_TRUE(results->back().metrics.at(0).value.has_value());
}

}  // namespace
}  // namespace nb
