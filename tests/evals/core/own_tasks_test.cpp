#include "evals/core/own_tasks.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>

#include "evals/evaluate.hpp"
#include "evals/models/built_in_models.hpp"
#include "evals/task_registry.hpp"
#include "harness/base/fs.hpp"
#include "tests/evals/support/toy.hpp"
#include "tests/support/data_dir.hpp"
#include "tests/support/temp_dir.hpp"

namespace nb {
namespace {

constexpr const char* kOwnYaml = R"(icl_tasks:
-
  label: colours
  dataset_uri: rows/colours.jsonl
  num_fewshot: [1]
  icl_task_type: multiple_choice
  continuation_delimiter: "\nAnswer: "
-
  label: who
  dataset_uri: who.jsonl
  num_fewshot: 0
  icl_task_type: schema
  has_categories: true
-
  label: ends
  dataset_uri: ends.jsonl
  num_fewshot: [0]
  icl_task_type: language_modeling
)";
constexpr const char* kColours = R"({"query": "grass", "choices": ["green", "red"], "gold": 0}
{"query": "blood", "choices": ["green", "red", "blue", "grey"], "gold": 1}
)";

class OwnTasks : public testing::Test {
 protected:
  void SetUp() override {
    write("mine.yaml", kOwnYaml);
    write("rows/colours.jsonl", kColours);
    write("who.jsonl",
          R"({"context_options": ["A cat", "A stone"], "continuation": "sleeps", "gold": 0})"
          "\n");
    write("ends.jsonl", R"({"context": "one two", "continuation": "three"})"
                        "\n");
  }
  void write(const std::string& name, const std::string& text) {
    ASSERT_TRUE(write_file(folder_ / name, text).has_value());
  }
  std::string path(const std::string& name = "mine.yaml") { return (folder_ / name).string(); }
  Result<std::vector<CoreTask>> read() { return read_own_tasks(std::vector{path()}); }
  // Of the file with `from` replaced by `to`; without the folder's name.
  std::string error_with(const std::string& from, const std::string& to) {
    std::string yaml = kOwnYaml;
    EXPECT_NE(yaml.find(from), std::string::npos) << from;
    write("mine.yaml", yaml.replace(yaml.find(from), from.size(), to));
    const auto tasks = read();
    if (tasks) return "read";
    std::string message = tasks.error().message;
    for (const std::string folder = folder_.path().string() + "/"; true;) {
      const std::size_t at = message.find(folder);
      if (at == std::string::npos) return message;
      message.erase(at, folder.size());
    }
  }
  EvalContext context() {
    EvalContext context;
    context.settings.task_files = {path()};
    return context;
  }
  std::vector<EvalResult> ask(const EvalContext& context, BuiltInKind kind = BuiltInKind::kOracle) {
    BuiltInModel model(kind, test::toy_tokenizer());
    auto results = evaluate(context, model);
    EXPECT_TRUE(results.has_value()) << results.error().message;
    return results ? std::move(*results) : std::vector<EvalResult>{};
  }
  test::TempDir folder_;
};

TEST_F(OwnTasks, AreReadAsCoreYamlIs) {
  const auto tasks = read();
  ASSERT_TRUE(tasks.has_value()) << tasks.error().message;
  ASSERT_EQ(tasks->size(), 3u);
  const CoreTask& colours = tasks->at(0);
  EXPECT_EQ(colours.id, "own/colours");
  EXPECT_EQ(colours.type, CoreTaskType::kMultipleChoice);
  EXPECT_EQ(colours.shots, 1);
  EXPECT_EQ(colours.delimiter, "\nAnswer: ");
  EXPECT_EQ(colours.dataset, (folder_ / "rows/colours.jsonl").string());
  EXPECT_EQ(tasks->at(1).type, CoreTaskType::kSchema);
  EXPECT_EQ(tasks->at(2).type, CoreTaskType::kLanguageModelling);
  EXPECT_EQ(tasks->at(2).delimiter, " ");
}

TEST_F(OwnTasks, RowsMayLieInEvalDataAsInNanochatsBundle) {
  fs::create_directory(folder_ / "eval_data");
  fs::rename(folder_ / "who.jsonl", folder_ / "eval_data/who.jsonl");
  const auto tasks = read();
  ASSERT_TRUE(tasks.has_value()) << tasks.error().message;
  EXPECT_EQ(tasks->at(1).dataset, (folder_ / "eval_data/who.jsonl").string());
}

TEST_F(OwnTasks, ErrorsNameFileLineAndKey) {
  EXPECT_EQ(error_with("num_fewshot: [1]", "num_fewshots: [1]"),
            "mine.yaml:5: unknown key \"num_fewshots\"; did you mean \"num_fewshot\"?");
  EXPECT_EQ(error_with("icl_task_type: multiple_choice", "icl_task_type: multiple_choices"),
            "mine.yaml:6: icl_task_type \"multiple_choices\" is not scored here; did you mean "
            "\"multiple_choice\"? (known: multiple_choice, schema, language_modeling)");
  EXPECT_EQ(error_with("icl_tasks:\n", "extra: 1\nicl_tasks:\n"),
            "mine.yaml:1: unknown key \"extra\"");
  EXPECT_EQ(error_with("  num_fewshot: 0\n", "  num_fewshot: 0\n  num_fewshot: 1\n"),
            "mine.yaml:12: the key \"num_fewshot\" appears twice");
  EXPECT_EQ(error_with("num_fewshot: [1]", "num_fewshot: [1, 5]"),
            "mine.yaml:3: num_fewshot of colours must be a list of one number");
  EXPECT_EQ(error_with("num_fewshot: 0", "num_fewshot: -1"),
            "mine.yaml:9: num_fewshot of who must be a list of one number");
  EXPECT_EQ(error_with("dataset_uri: who.jsonl", "dataset_uri: whom.jsonl"),
            "mine.yaml:10: dataset_uri \"whom.jsonl\": there is no such file; it is looked for as "
            "whom.jsonl");
  EXPECT_EQ(error_with("label: who", "label: who/what"),
            "mine.yaml:9: label \"who/what\": use 1 to 60 letters, digits, _ and -");
  EXPECT_EQ(error_with("label: who", "label: colours"),
            "mine.yaml:9: the task colours appears twice");
  EXPECT_TRUE(error_with("icl_tasks:", "icl_tasks: [").starts_with("mine.yaml:")) << "no YAML";
  write("mine.yaml", "icl_tasks: []\n");
  EXPECT_TRUE(read().error().message.ends_with("\"icl_tasks\" is empty; list at least one task"));
  EXPECT_FALSE(read_own_tasks(std::vector{path("nothing.yaml")}).has_value());
}

TEST_F(OwnTasks, ABrokenRowIsNamedByFileAndLine) {
  write("rows/colours.jsonl", std::string(kColours) + R"({"query": "sky", "choices": ["blue"]})");
  const auto result = preflight(context());
  ASSERT_FALSE(result.has_value());
  EXPECT_NE(result.error().message.find("rows/colours.jsonl:3: "), std::string::npos)
      << result.error().message;
}

TEST_F(OwnTasks, TwoFilesMustNotShareALabel) {
  write("other.yaml", kOwnYaml);
  const auto tasks = read_own_tasks(std::vector{path(), path("other.yaml")});
  ASSERT_FALSE(tasks.has_value());
  EXPECT_TRUE(tasks.error().message.ends_with(
      "other.yaml:3: another task file has a task colours too; rename one"))
      << tasks.error().message;
}

TEST_F(OwnTasks, AllOfAFileOrThoseThatAreNamed) {
  const auto ids = [&](const std::vector<std::string>& names) {
    EvalSettings settings = context().settings;
    settings.tasks = names;
    std::vector<std::string> found;
    const auto tasks = expand_tasks(settings, "--task");
    if (!tasks) return std::vector{tasks.error().message};
    for (const Task& task : *tasks) found.push_back(task.id);
    return found;
  };
  using Ids = std::vector<std::string>;
  EXPECT_EQ(ids({}), (Ids{"own/colours", "own/who", "own/ends"}));
  EXPECT_EQ(ids({"copa"}), (Ids{"copa", "own/colours", "own/who", "own/ends"}));
  EXPECT_EQ(ids({"own/ends", "copa"}), (Ids{"own/ends", "copa"}));
  EXPECT_EQ(ids({"own/colour"}), (Ids{"--task: no evaluation task \"own/colour\"; did you mean "
                                      "\"own/colours\"? (npubench list tasks)"}));
}

TEST_F(OwnTasks, AreScoredAsTasksOfCoreAre) {
  const auto right = ask(context()), wrong = ask(context(), BuiltInKind::kCorrupted);
  ASSERT_EQ(right.size(), 3u);  // and no CORE
  for (const EvalResult& result : right) EXPECT_EQ(result.metrics.at(0).value, 1.0) << result.task;
  for (const EvalResult& result : wrong) EXPECT_EQ(result.metrics.at(0).value, 0.0) << result.task;
  // Chance is (1/2 + 1/4) / 2.
  EXPECT_DOUBLE_EQ(wrong[0].metrics.at(1).value.value(), -0.375 / 0.625);
  EXPECT_DOUBLE_EQ(wrong[2].metrics.at(1).value.value(), 0);  // of an exact match it is 0
}

// The definition of every task: nothing may change without its hash.
TEST_F(OwnTasks, EveryChangeOfEntryOrRowsIsAnotherDefinition) {
  const auto definition = [&] {
    return ask(context()).at(0).comparability.at("own/colours/definition");
  };
  std::set<std::string> seen = {definition()};
  const auto changed = [&](const std::string& from, const std::string& to) {
    std::string yaml = kOwnYaml;
    write("mine.yaml", yaml.replace(yaml.find(from), from.size(), to));
    EXPECT_TRUE(seen.insert(definition()).second) << to;
    EXPECT_EQ(digests_of(context().settings)->at("own/colours"), definition());
  };
  changed("\\nAnswer: ", " ");
  changed("num_fewshot: [1]", "num_fewshot: [0]");
  write("mine.yaml", kOwnYaml);
  EXPECT_FALSE(seen.insert(definition()).second);
  write("rows/colours.jsonl", std::string(kColours) + "\n");  // not even a blank line
  EXPECT_TRUE(seen.insert(definition()).second);
}

TEST_F(OwnTasks, AFileThatChangesUnderAnEvaluationIsRefused) {
  EvalContext planned = context();
  planned.file_digests = *digests_of(planned.settings);
  EXPECT_TRUE(preflight(planned).has_value());
  write("rows/colours.jsonl", std::string(kColours) + "\n");
  const auto result = preflight(planned);
  ASSERT_FALSE(result.has_value());
  EXPECT_NE(result.error().message.find("changed after this evaluation began"), std::string::npos)
      << result.error().message;
}

// copa out of the real bundle's rows, under another name.
TEST_F(OwnTasks, ACopyOfARealTaskHasItsItemsAndPrompts) {
  const fs::path data = test::data_dir();
  const fs::path rows = data / "core/eval_data/commonsense_reasoning/copa.jsonl";
  if (data.empty() || !fs::exists(rows)) GTEST_SKIP() << "skipped: no data";
  write("mine.yaml", "icl_tasks:\n- label: copa\n  dataset_uri: " + rows.string() +
                         "\n  num_fewshot: [0]\n  icl_task_type: multiple_choice\n");
  EvalContext both = context();
  both.data_dir = data;
  both.settings.tasks = {"copa"};
  const auto results = ask(both, BuiltInKind::kChance);
  ASSERT_GE(results.size(), 2u);
  EXPECT_EQ(results[0].comparability.at("copa/items"),
            results[1].comparability.at("own/copa/items"));
  EXPECT_EQ(results[0].comparability.at("copa/prompts"),
            results[1].comparability.at("own/copa/prompts"));
  EXPECT_EQ(results[0].metrics.at(0).value, results[1].metrics.at(0).value);
}

}  // namespace
}  // namespace nb
