// Evaluates tasks: which items, in which batches, what is there already, where records go. Knows
// nothing of what a task asks. The result is a function of settings, data and model alone: batch,
// shards, threads and interruptions change nothing, to the bit.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "evals/eval_result.hpp"
#include "evals/eval_settings.hpp"
#include "evals/evaluator.hpp"
#include "evals/scorer_fault.hpp"
#include "harness/base/result.hpp"
#include "model/data/microworld.hpp"
#include "model/engine/language_model.hpp"

namespace nb {

struct Task;  // task_registry.hpp

struct EvalContext {
  EvalSettings settings;
  std::filesystem::path data_dir;
  MicroworldSettings microworld;  // of mw/… tasks: the world that the model was trained on
  std::function<ScorerFault(std::string_view task)> fault;  // empty: none
  // Items done of all items of that task and this shard; empty: none.
  std::function<void(std::string_view task, std::int64_t done, std::int64_t total)> progress;

  std::int64_t batch_items =
      32;  // handed to the model together; a matter of memory, not of results
  // This process evaluates the items i with i mod shards = shard; the others may be done already.
  std::int64_t shard = 0;
  std::int64_t shards = 1;
  // Records of this task that exist already (any order, any shard); empty: none. Those whose id or
  // prompt is not of this evaluation are an error.
  std::function<Result<std::vector<ItemRecord>>(std::string_view task)> done;
  // Every new record, as soon as it is there; empty: none.
  std::function<Result<void>(std::string_view task, const ItemRecord& item)> sink;
};

// The evaluator of a task on its data, checked: everything that can be wrong without a model.
Result<std::unique_ptr<Evaluator>> load_evaluator(const Task& task, const EvalContext& context);

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
};
Result<EvalResult> mark_stored(const Task& task, const GeneratingEvaluator& evaluator,
                               std::span<const StoredTexts> stored, const EvalContext& context);

}  // namespace nb
