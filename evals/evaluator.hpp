// What every evaluator offers: check the inputs before work starts, then evaluate. Evaluators never print,
// never read a clock, and see a model only as a LanguageModel.
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
#include "harness/base/result.hpp"
#include "model/engine/language_model.hpp"

namespace nb {

// Injected by harness/faults after items are hashed, so that comparability does not see it.
enum class ScorerFault {
  kNone,
  // Choice tasks: the second best choice is picked. Language modelling: an exact match counts as a miss,
  // since the second most likely token is never the matching one.
  kSecondBest,
};

struct EvalContext {
  EvalSettings settings;
  std::filesystem::path data_dir;
  std::uint64_t microworld_seed = 0;   // the world that the model was trained on
  std::function<ScorerFault(std::string_view task)> fault;              // empty: none
  std::function<void(std::int64_t done, std::int64_t total)> progress;  // items of the task; empty: none
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

// The whole of settings.tasks, in order, then the composites (core_composite.hpp).
Result<void> preflight(const EvalContext& context);
Result<std::vector<EvalResult>> evaluate(const EvalContext& context, LanguageModel& model);

}  // namespace nb
