// Evaluates one CORE-style task: rows → order → prompts → spans → scores → records (nanochat.md
// §6.3).
#pragma once

#include <string_view>
#include <vector>

#include "evals/core_task.hpp"
#include "evals/evaluator.hpp"

namespace nb {

// Part of comparability: raise it when the same model could get another score from the same items.
inline constexpr std::string_view kCoreScorerVersion = "core-1";

// A task with its rows in file order. Chance is known only now for generated tasks.
struct CoreTaskData {
  std::vector<CoreItem> items;
  double baseline_percent = 0;
};
Result<CoreTaskData> load_core_task(const CoreTask& task, const EvalContext& context);

class CoreEvaluator : public Evaluator {
 public:
  explicit CoreEvaluator(const CoreTask& task) : task_(task) {}
  std::string_view id() const override { return task_.id; }
  Result<void> preflight(const EvalContext& context) const override;
  Result<EvalResult> evaluate(const EvalContext& context, LanguageModel& model) const override;
  // The same on rows that are already there.
  Result<EvalResult> evaluate(const EvalContext& context, const CoreTaskData& data,
                              LanguageModel& model) const;

 private:
  CoreTask task_;
};

// (accuracy − chance) / (1 − chance); nanochat.md §6.3.
double centred(double accuracy, double baseline_percent);

}  // namespace nb
