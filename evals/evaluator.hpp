// What every evaluator offers: check the inputs before work starts, then evaluate. Evaluators never
// print, never read a clock, and see a model only as a LanguageModel.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "evals/core_task.hpp"
#include "evals/eval_result.hpp"
#include "evals/eval_settings.hpp"
#include "evals/scorer_fault.hpp"
#include "harness/base/result.hpp"
#include "model/data/microworld.hpp"
#include "model/engine/language_model.hpp"

namespace nb {

struct EvalContext {
  EvalSettings settings;
  std::filesystem::path data_dir;
  MicroworldSettings microworld;  // of mw/… tasks: the world that the model was trained on
  std::function<ScorerFault(std::string_view task)> fault;  // empty: none
  // Items done of all items of that task, every few items; empty: none.
  std::function<void(std::string_view task, std::int64_t done, std::int64_t total)> progress;
};

class Evaluator {
 public:
  virtual ~Evaluator() = default;
  virtual std::string_view id() const = 0;
  // Everything that can be wrong without a model: data there, rows well formed, settings possible.
  virtual Result<void> preflight(const EvalContext& context) const = 0;
  virtual Result<EvalResult> evaluate(const EvalContext& context, LanguageModel& model) const = 0;
};

std::unique_ptr<Evaluator> make_evaluator(const CoreTask& task);

// All of settings.tasks, in order. evaluate() adds the composites (core_composite.hpp) at the end.
Result<void> preflight(const EvalContext& context);
Result<std::vector<EvalResult>> evaluate(const EvalContext& context, LanguageModel& model);

}  // namespace nb
