// What every evaluation leaves in its folder: an items file per task, nanochat's CSV of CORE, a CSV
// of scores by part, and what of them belongs into the record. For suites' nodes and for `npubench
// eval` alike.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "evals/base/eval_result.hpp"
#include "harness/base/result.hpp"
#include "model/device/numerics.hpp"
#include "results/store/record.hpp"

namespace nb {

// What the tasks run a model for: texts are generated, everything else is scored.
std::vector<Use> uses_of(std::span<const EvalResult> results);

// "no score: copa (100 of 100 items); …" where a model was not finite; empty: every item has a
// score.
std::string unscored_text(const Record& record);

Result<void> write_evaluation(std::span<const EvalResult> results,
                              const std::filesystem::path& folder, Record& record);

}  // namespace nb
