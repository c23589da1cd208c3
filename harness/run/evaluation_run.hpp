// The folder of one evaluation outside a suite: its key, lock, reuse, resume, shards and record.
// Whoever answers (a model, texts that are there) is a function.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "evals/evaluate.hpp"
#include "harness/base/result.hpp"
#include "harness/run/evaluation.hpp"
#include "harness/run/open_model.hpp"

namespace nb {

struct AnswerSource {
  std::string label;                    // of the folder
  std::string weights;                  // what is compared: digest of weights or of a file
  const OpenedModel* opened = nullptr;  // nullptr: texts that are there already, nothing to resume
};

// Results of all tasks, composites included; called a second time when other shards may have ended.
using AnswerFunction = std::function<Result<std::vector<EvalResult>>(const EvalContext&)>;

Result<EvaluationOutcome> run_in_folder(const EvaluationRequest& request, EvalContext context,
                                        const AnswerSource& source, const AnswerFunction& answer);

}  // namespace nb
