// The toy tokenizer and the toy model of tests/golden/core_golden.py, and small helpers for
// evaluations.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "evals/base/eval_result.hpp"
#include "evals/core/evaluator.hpp"
#include "evals/task_registry.hpp"
#include "model/engine/fake_language_model.hpp"
#include "model/tokenizer/tokenizer.hpp"

namespace nb::test {

const Json& core_golden();         // tests/golden/core_golden.json
const Tokenizer& toy_tokenizer();  // bytes, the golden's merges, nanochat's specials
FakeLanguageModel toy_model(std::int64_t context_length = 4096);
// Every token as likely as any: all choices tie.
FakeLanguageModel flat_model(std::int64_t context_length = 4096);

EvalContext small_world(std::int64_t items_per_task);  // all of mw/…
std::vector<Task> tasks_of(const std::string& name);   // of a set or an id
// A task on rows that are already there.
Result<EvalResult> evaluate_core(const CoreTask& task, CoreTaskData data,
                                 const EvalContext& context, LanguageModel& model);
CoreTaskData task_data(const std::string& jsonl, CoreTaskType type, double baseline_percent = 0);

}  // namespace nb::test
