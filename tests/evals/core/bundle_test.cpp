#include "evals/core/bundle.hpp"

#include <gtest/gtest.h>

#include "evals/core/task_table.hpp"
#include "evals/evaluate.hpp"
#include "evals/task_registry.hpp"
#include "harness/base/fs.hpp"
#include "tests/support/data_dir.hpp"
#include "tests/support/temp_dir.hpp"

namespace nb {
namespace {

constexpr const char* kYaml = R"(icl_tasks:
-
  label: jeopardy
  dataset_uri: world_knowledge/jeopardy_all.jsonl
  num_fewshot: [10]
  icl_task_type: language_modeling
  continuation_delimiter: "\nAnswer: "
  has_categories: true
-
  label: copa
  dataset_uri: commonsense_reasoning/copa.jsonl
  num_fewshot: [0]
  icl_task_type: multiple_choice
)";
constexpr const char* kCsv =
    "Eval Task,Task Category,Random baseline,Description\n"
    "copa,reasoning,50,\"one, two\"\n"
    "jeopardy,knowledge,0,\n";

Result<CoreBundle> parse(const std::string& yaml, const std::string& csv = kCsv) {
  return parse_core_bundle(yaml, csv, "core.yaml", "meta.csv");
}
std::string bundle_error(const std::string& yaml, const std::string& csv = kCsv) {
  const auto bundle = parse(yaml, csv);
  return bundle ? "parsed" : bundle.error().message;
}
std::string replaced(std::string text, const std::string& from, const std::string& to) {
  EXPECT_NE(text.find(from), std::string::npos) << from;
  return text.replace(text.find(from), from.size(), to);
}

TEST(CoreBundle, ReadsTasksDelimitersAndBaselines) {
  const auto bundle = parse(kYaml);
  ASSERT_TRUE(bundle.has_value()) << bundle.error().message;
  ASSERT_EQ(bundle->tasks.size(), 2u);
  const BundleTask& jeopardy = bundle->tasks[0];
  EXPECT_EQ(jeopardy.label, "jeopardy");
  EXPECT_EQ(jeopardy.dataset_uri, "world_knowledge/jeopardy_all.jsonl");
  EXPECT_EQ(jeopardy.type, "language_modeling");
  EXPECT_EQ(jeopardy.shots, 10);
  EXPECT_EQ(jeopardy.delimiter, "\nAnswer: ");
  EXPECT_EQ(bundle->tasks[1].delimiter, " ");  // the reference's default
  EXPECT_EQ(bundle->find("copa")->baseline_percent, 50.0);
  EXPECT_EQ(bundle->find("nothing"), nullptr);
}

TEST(CoreBundle, ErrorsNameFileLineAndKey) {
  EXPECT_EQ(bundle_error("icl_tasks: 3\n"), "core.yaml: no list \"icl_tasks\"");
  EXPECT_TRUE(bundle_error("icl_tasks: [\n").starts_with("core.yaml:2: "))
      << bundle_error("icl_tasks: [\n");
  EXPECT_EQ(bundle_error(replaced(kYaml, "  num_fewshot: [0]\n", "")),
            "core.yaml:10: the task has no \"num_fewshot\"");
  EXPECT_EQ(bundle_error(replaced(kYaml, "[0]", "[a]")),
            "core.yaml:12: \"num_fewshot\" has a value of the wrong kind");
  EXPECT_EQ(bundle_error(replaced(kYaml, "label: copa", "label: jeopardy")),
            "core.yaml:10: the task jeopardy appears twice");
  EXPECT_EQ(bundle_error(kYaml, "Eval Task,Random baseline\ncopa,50\n"),
            "meta.csv: no row for jeopardy, which core.yaml names");
  EXPECT_EQ(bundle_error(kYaml, "Eval Task,Random baseline\ncopa,50\njeopardy,much\n"),
            "meta.csv: jeopardy: \"much\" is not a percentage below 100");
}

TEST(CoreBundle, WhatDiffersFromNanochatsIsNamed) {
  const CoreTask& copa = *find_core_task("copa");
  EXPECT_TRUE(check_against_bundle(copa, *parse(kYaml)).has_value());
  const auto checked = check_against_bundle(copa, *parse(replaced(kYaml, "[0]", "[5]")));
  ASSERT_FALSE(checked.has_value());
  EXPECT_EQ(
      checked.error().message,
      "core.yaml: num_fewshot of copa is 5, in nanochat's bundle it is 0; scores would not be "
      "CORE's");
  const auto baseline =
      check_against_bundle(copa, *parse(kYaml, replaced(kCsv, "reasoning,50", "reasoning,25")));
  ASSERT_FALSE(baseline.has_value());
  EXPECT_TRUE(baseline.error().message.starts_with("meta.csv: the random baseline of copa is 25"))
      << baseline.error().message;
}

TEST(CoreBundle, IsNotRequired) {
  const test::TempDir folder;
  const auto bundle = read_core_bundle(folder.path());
  ASSERT_TRUE(bundle.has_value()) << bundle.error().message;
  EXPECT_FALSE(bundle->has_value());
}

TEST(CoreBundle, TheRealOneSaysWhatTheTableSays) {
  NB_NEEDS_DATA();
  const auto bundle = read_core_bundle(test::data_dir());
  ASSERT_TRUE(bundle.has_value()) << bundle.error().message;
  ASSERT_TRUE(bundle->has_value());
  const auto labels = core_labels();
  ASSERT_EQ((*bundle)->tasks.size(), labels.size());
  for (std::size_t i = 0; i < labels.size(); ++i) {
    EXPECT_EQ((*bundle)->tasks[i].label, labels[i]);
    const auto checked = check_against_bundle(*find_core_task(labels[i]), **bundle);
    EXPECT_TRUE(checked.has_value()) << checked.error().message;
    EXPECT_EQ((*bundle)->tasks[i].baseline_percent, find_core_task(labels[i])->baseline_v1);
  }
}

// nanochat's own layout: core.yaml, eval_meta_data.csv and eval_data/ in one folder, or in
// eval_bundle/ of it.
TEST(CoreBundle, NanochatsFoldersAreAccepted) {
  NB_NEEDS_DATA();
  const fs::path meta = test::data_dir() / "core/eval_bundle_meta";
  const fs::path rows = "commonsense_reasoning/copa.jsonl";
  for (const char* below : {"", "eval_bundle"}) {
    const test::TempDir folder;
    const fs::path bundle = folder / below;
    for (const char* file : {"core.yaml", "eval_meta_data.csv"})
      ASSERT_TRUE(write_file(bundle / file, read_file(meta / file).value()).has_value());
    ASSERT_TRUE(write_file(bundle / "eval_data" / rows,
                           read_file(test::data_dir() / "core/eval_data" / rows).value())
                    .has_value());
    EvalContext context;
    context.data_dir = folder.path();
    const auto evaluator = load_evaluator(*find_task("copa"), context);
    ASSERT_TRUE(evaluator.has_value()) << evaluator.error().message;
    EXPECT_EQ((*evaluator)->size(), 100u);
  }
}

}  // namespace
}  // namespace nb
