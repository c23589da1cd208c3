// Evaluates tasks: which items, in which batches, what is there already, where records go. Knows
// nothing of what a task asks. The result is a function of settings, data and model alone: batch,
// shards, threads and interruptions change nothing, to the bit.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "evals/base/eval_context.hpp"
#include "evals/base/eval_result.hpp"
#include "evals/base/evaluator.hpp"
#include "evals/base/task.hpp"
#include "harness/base/result.hpp"
#include "model/engine/language_model.hpp"

namespace nb {

// The evaluator of a task on its data, checked: everything that can be wrong without a model.
Result<std::unique_ptr<Evaluator>> load_evaluator(const Task& task, const EvalContext& context);

// Names in the data manifest of what settings.tasks read, in order; those of generated worlds need
// none.
Result<std::vector<std::string>> datasets_of(const EvalSettings& settings);

// The level of this host's sandbox where one of the tasks runs programs that a model wrote;
// empty: none does, or no level works. Part of comparability, so of a node's key too.
std::string sandbox_level(const EvalSettings& settings);

// What the user's own files hold, by task: part of a node's key, since their names say nothing of
// it. Empty: there are none.
Result<std::map<std::string, std::string>> digests_of(const EvalSettings& settings);

// All of settings.tasks, in order. evaluate() adds the composites (composites.hpp) at the end.
Result<void> preflight(const EvalContext& context);
Result<std::vector<EvalResult>> evaluate(const EvalContext& context, LanguageModel& model);
// One task that is loaded. With items missing (other shards) the result has no metrics.
Result<EvalResult> evaluate(const Task& task, const Evaluator& evaluator,
                            const EvalContext& context, LanguageModel& model);

// Texts that are there already, by the evaluator's place of the item: nothing is asked of a model.
struct StoredTexts {
  std::size_t item = 0;
  std::vector<std::string> texts;
  bool is_finite = true;  // false: the logits of the model that said them were not; no score
};

// Items without texts are other processes' (kOfOthers: no metrics then), or no part of the result,
// which counts them and can be compared only with one of the same items (kLeftOut).
enum class ItemsWithoutTexts { kOfOthers, kLeftOut };
Result<EvalResult> grade_stored(const Task& task, const GeneratingEvaluator& evaluator,
                                std::span<const StoredTexts> stored, const EvalContext& context,
                                ItemsWithoutTexts missing = ItemsWithoutTexts::kOfOthers);

}  // namespace nb
