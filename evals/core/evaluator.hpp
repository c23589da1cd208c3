// A CORE-style task as an Evaluator: rows → order → prompts → spans → scores (nanochat's
// base_eval.py).
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "evals/base/eval_context.hpp"
#include "evals/base/evaluator.hpp"
#include "evals/core/task.hpp"

namespace nb {

// Part of comparability: raise it when the same model could get another score from the same items.
inline constexpr std::string_view kCoreScorerVersion = "core-1";

// A task with its rows in file order. Chance is known only now for generated and own tasks.
struct CoreTaskData {
  std::vector<CoreItem> items;
  double baseline_percent = 0;
  std::string digest = {};  // of a user's own task (own_tasks.hpp); else empty
};
Result<CoreTaskData> load_core_task(const CoreTask& task, const EvalContext& context);
Result<std::unique_ptr<Evaluator>> load_core_evaluator(const CoreTask& task,
                                                       const EvalContext& context);

class CoreEvaluator : public ScoringEvaluator {
 public:
  // On rows that are already there. An error when too few of them are kept for the shots.
  static Result<std::unique_ptr<CoreEvaluator>> create(const CoreTask& task, CoreTaskData data,
                                                       const EvalContext& context);

  std::size_t size() const override { return kept_.size(); }
  std::string item_id(std::size_t i) const override { return item(i).id; }
  std::string public_id(std::size_t i) const override;
  std::string item_bytes(std::size_t i) const override;
  std::vector<std::string> prompts(std::size_t i) const override;
  Gold gold(std::size_t i) const override;
  ItemText shown_text(std::size_t i) const override;
  double baseline_percent() const override { return data_.baseline_percent; }
  double guessing() const override;
  std::map<std::string, std::string> comparability() const override;
  // "always_right" and "always_wrong": items that the reference's rule for choices without tokens
  // decides whatever a model says; only where there are any.
  std::vector<Metric> more_metrics(std::span<const ItemRecord> items) const override;
  Result<Requests> requests(std::size_t i, const Tokenizer& tokenizer,
                            std::int64_t context_length) const override;
  ItemRecord grade(std::size_t i, std::span<const ScoreRequest> requests,
                   std::span<const ScoreResult> scores, const Tokenizer& tokenizer) const override;

 private:
  CoreEvaluator(const CoreTask& task, CoreTaskData data, const EvalContext& context);
  const CoreItem& item(std::size_t i) const { return data_.items[kept_[i]]; }

  CoreTask task_;
  int shots_;
  EvalSettings settings_;
  CoreTaskData data_;
  std::vector<std::size_t> kept_;  // rows, in the order evaluated
  ScorerFault fault_;
};

}  // namespace nb
