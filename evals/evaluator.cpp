#include "evals/evaluator.hpp"

#include <utility>

#include "evals/core_composite.hpp"
#include "evals/core_evaluator.hpp"
#include "evals/task_registry.hpp"

namespace nb {

std::unique_ptr<Evaluator> make_evaluator(const CoreTask& task) {
  return std::make_unique<CoreEvaluator>(task);
}

Result<void> preflight(const EvalContext& context) {
  NB_TRY(const auto tasks, expand_tasks(context.settings.tasks, ""));
  for (const CoreTask* task : tasks) NB_TRY_VOID(make_evaluator(*task)->preflight(context));
  return {};
}

Result<std::vector<EvalResult>> evaluate(const EvalContext& context, LanguageModel& model) {
  NB_TRY(const auto tasks, expand_tasks(context.settings.tasks, ""));
  std::vector<EvalResult> results;
  for (const CoreTask* task : tasks) {
    NB_TRY(EvalResult result, make_evaluator(*task)->evaluate(context, model));
    results.push_back(std::move(result));
  }
  for (EvalResult& composite : composites(results, context.settings))
    results.push_back(std::move(composite));
  return results;
}

}  // namespace nb
