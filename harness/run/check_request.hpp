// What can be wrong with an evaluation's request before any file is read: sources that exclude each
// other, shards that are not there, flags that would change nothing.
#pragma once

#include "harness/base/result.hpp"
#include "harness/run/evaluation.hpp"

namespace nb {

Result<void> check_request(const EvaluationRequest& request);

}  // namespace nb
