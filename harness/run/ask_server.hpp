// An evaluation whose model is a server (harness/remote): who is asked, by which method each task
// is scored, what of that belongs into the record. For evaluation.cpp only.
#pragma once

#include <vector>

#include "evals/base/eval_context.hpp"
#include "evals/show_prompts.hpp"
#include "harness/base/result.hpp"
#include "harness/run/evaluation.hpp"

namespace nb {

// The server of request.server is asked for the items of the context's tasks.
Result<EvaluationOutcome> ask_server(const EvaluationRequest& request, EvalContext context);
// What it would be asked; no item is.
Result<std::vector<ShownTask>> server_prompts(const EvaluationRequest& request, EvalContext context,
                                              std::int64_t items);

}  // namespace nb
