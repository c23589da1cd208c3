// evals: tasks, items, stored completions, what programs report from the sandbox.
#include <fmt/format.h>

#include "evals/base/text.hpp"
#include "evals/chat/answer_filter.hpp"
#include "evals/completions.hpp"
#include "evals/core/bundle.hpp"
#include "evals/core/items.hpp"
#include "evals/core/own_tasks.hpp"
#include "evals/data/manifest.hpp"
#include "evals/humaneval/items.hpp"
#include "evals/humaneval/program.hpp"
#include "evals/sandbox/verdict.hpp"
#include "evals/text/documents.hpp"
#include "harness/base/check.hpp"
#include "tests/evals/support/echo_evaluator.hpp"
#include "tests/fuzz/scratch.hpp"
#include "tests/fuzz/target.hpp"

namespace nb::test {
namespace {

constexpr const char* kYaml = R"(icl_tasks:
-
  label: colours
  dataset_uri: rows.jsonl
  num_fewshot: [1]
  icl_task_type: multiple_choice
  continuation_delimiter: "\nAnswer: "
-
  label: ends
  dataset_uri: rows.jsonl
  num_fewshot: 0
  icl_task_type: language_modeling
)";
constexpr const char* kMeta =
    "Eval Task,Task Category,Random baseline,Description\ncolours,reasoning,50,\"one, two\"\n"
    "ends,knowledge,0,\n";
constexpr std::string_view kBeforeMeta = "\n---\n";

// core.yaml, a line of "---", eval_meta_data.csv.
Result<void> fuzz_bundle(std::string_view bytes) {
  const std::size_t at = std::min(bytes.find(kBeforeMeta), bytes.size());
  const std::string_view csv =
      at == bytes.size() ? std::string_view(kMeta) : bytes.substr(at + kBeforeMeta.size());
  NB_TRY(const CoreBundle bundle,
         parse_core_bundle(bytes.substr(0, at), csv, "core.yaml", "meta.csv"));
  return {};
}

Result<void> fuzz_own_tasks(std::string_view bytes) {
  scratch_file("own_tasks/rows.jsonl",
               "{\"query\": \"grass\", \"choices\": [\"green\", \"red\"], \"gold\": 0}\n");
  const std::string yaml = scratch_file("own_tasks/mine.yaml", bytes).string();
  NB_TRY(const auto tasks, read_own_tasks(std::vector{yaml}));
  for (const CoreTask& task : tasks) const auto rows = read_own_rows(task);
  return {};
}

template <CoreTaskType type>
Result<void> fuzz_core_items(std::string_view bytes) {
  NB_TRY(const auto items, parse_core_items(bytes, type, "f"));
  for (const CoreItem& item : items)
    NB_CHECK(type == CoreTaskType::kLanguageModelling ||
                 (item.gold >= 0 && static_cast<std::size_t>(item.gold) < item.choices.size()),
             "[core_items] gold {} of {} choices", item.gold, item.choices.size());
  return {};
}

// A model's text, as a program of a problem.
const HumanEvalProblem& problem() {
  static const HumanEvalProblem kProblem = {"0123456789abcdef",
                                            "A/0",
                                            "import math\n\ndef f(x):\n    \"\"\"Doc.\"\"\"\n",
                                            "f",
                                            "    pass",
                                            "def check(candidate):\n    pass\n"};
  return kProblem;
}

Result<void> fuzz_program(std::string_view bytes) {
  for (const HumanEvalText kind :
       {HumanEvalText::kAnswer, HumanEvalText::kContinuation, HumanEvalText::kSolution}) {
    const std::string marked = mark_text(kind, std::string(bytes));
    NB_CHECK(kind_of(marked) == kind, "[program] another kind");
    humaneval_trial(problem(), marked);
    has_function(problem(), marked);
  }
  extract_code(bytes);
  return {};
}

Result<void> fuzz_humaneval(std::string_view bytes) {
  NB_TRY(const auto problems, parse_humaneval(bytes, "f"));
  for (const HumanEvalProblem& one : problems) {
    leading_imports(one.prompt);
    NB_CHECK(!item_bytes(one).empty(), "[humaneval] nothing");
  }
  return {};
}

Result<void> fuzz_completions(std::string_view bytes) {
  static const EchoEvaluator kEvaluator({"one", "two"});
  for (const char* member : {"", "m"})
    for (const bool incomplete : {true, false}) {
      CompletionsChoice choice;
      choice.member = member;
      choice.ignore_incomplete = incomplete;
      const auto read = parse_completions(bytes, kEvaluator, choice, "f");
      if (!read && *member == '\0' && !incomplete) return tl::unexpected(read.error());
    }
  return {};
}

// What the checker of a sandbox reports: a program under test may have forged it.
// What answers are marked by: the last number, the first after "####".
Result<void> fuzz_answer(std::string_view bytes) {
  const auto number = last_number(bytes);
  if (number) plain_number(*number);
  return number ? Result<void>{} : bad_input("no number");
}

Result<void> fuzz_verdict(std::string_view bytes) {
  using namespace sandbox;
  for (const Stop stop : {Stop::kNone, Stop::kWall}) {
    Observed observed;
    observed.report = std::string(bytes);
    observed.stop = stop;
    waits_for_program(observed);
    const std::string trouble = trouble_of_host(observed);
    if (!trouble.empty()) return bad_input(trouble);
    verdict(observed, Limits{});
  }
  return {};
}

Result<void> fuzz_manifest(std::string_view bytes) {
  NB_TRY(const DataManifest manifest, parse_data_manifest(bytes, "f"));
  NB_CHECK(!data_table(manifest, "", false).rows.empty() || manifest.files.empty(),
           "[manifest] no table");
  return {};
}

Result<void> fuzz_texts(std::string_view bytes) {
  NB_TRY(const Texts jsonl, read_texts(std::vector{scratch_file("texts/f.jsonl", bytes).string()}));
  return {};
}
Result<void> fuzz_plain_text(std::string_view bytes) {
  NB_TRY(const Texts text, read_texts(std::vector{scratch_file("texts/f.txt", bytes).string()}));
  return {};
}

}  // namespace

void add_evals_targets(FuzzTargets& targets) {
  const auto seed = [](std::string text) { return [text] { return std::vector{text}; }; };
  targets.push_back({"bundle", "core.yaml and eval_meta_data.csv", "", fuzz_bundle,
                     seed(std::string(kYaml) + std::string(kBeforeMeta).substr(1) + kMeta)});
  targets.push_back({"own_tasks", "tasks of one's own (YAML)", "", fuzz_own_tasks, seed(kYaml)});
  targets.push_back(
      {"core_choices", "rows of multiple choice", "",
       fuzz_core_items<CoreTaskType::kMultipleChoice>,
       seed(R"({"query": "blood", "choices": ["green", "red", "blue"], "gold": 1})")});
  targets.push_back(
      {"core_schema", "rows of schemas", "", fuzz_core_items<CoreTaskType::kSchema>,
       seed(R"({"context_options": ["A cat", "A stone"], "continuation": "sleeps", "gold": 0})")});
  targets.push_back({"core_continuations", "rows of continuations", "",
                     fuzz_core_items<CoreTaskType::kLanguageModelling>,
                     seed(R"({"context": "one two", "continuation": "three"})")});
  targets.push_back(
      {"humaneval", "HumanEval's problems", "", fuzz_humaneval,
       seed(
           R"({"task_id": "A/0", "prompt": "import os\ndef f():\n", "entry_point": "f", "canonical_solution": "    pass", "test": "def check(c):\n  pass"})")});
  targets.push_back({"program", "programs that models write", "", fuzz_program, [] {
                       std::string fences;  // none of them ends
                       for (int i = 0; i < 200'000; ++i) fences += "\n ```";
                       return std::vector<std::string>{
                           "Text\n```python\nimport x\ndef f(x):\n    return 1\n```\n", fences};
                     }});
  targets.push_back(
      {"completions", "stored completions", "", fuzz_completions,
       seed("{\"task_id\": \"Echo/1\", \"completion\": \"two\"}\n{\"id\": \"Echo/0\", \"text\": "
            "\"no\", \"other\": 3, \"m\": {\"solution\": \"x\"}}\n")});
  targets.push_back({"answer", "answers of models with a number", "", fuzz_answer,
                     seed("It is $1,234.50.\n#### 18")});
  targets.push_back({"verdict", "reports from the sandbox", "", fuzz_verdict,
                     seed("ready\nfailed\nValueError: x\n")});
  targets.push_back(
      {"manifest", "the manifest of data files", "", fuzz_manifest,
       seed(
           R"({"schema": 1, "files": [{"name": "core/a", "path": "core/a.jsonl", "size_bytes": 5, "sha256": "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef", "licence": "MIT", "origin": "o/r@c:p", "tasks": []}]})")});
  targets.push_back({"texts_jsonl", "texts to be scored, .jsonl", "", fuzz_texts,
                     seed("{\"text\": \"one\"}\n{\"text\": \"two\"}\n")});
  targets.push_back({"texts", "texts to be scored", "", fuzz_plain_text,
                     seed("\xEF\xBB\xBF"
                          "a text\n")});
}

}  // namespace nb::test
