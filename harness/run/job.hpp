// A suite that several processes run (model/collectives/processes.hpp). The leading one runs all of
// it; the others take part in trainings on meshes, each with the ranks that are its own, and keep
// nothing. All see the same results folder.
#pragma once

#include <filesystem>

#include "harness/base/result.hpp"
#include "harness/plan/plan.hpp"
#include "harness/run/stage.hpp"
#include "model/collectives/processes.hpp"

namespace nb {

// bad_input with the numbers: a mesh that the processes cannot share, or none at all; what is only
// trained by ranks of one process.
Result<void> check_job(const Plan& plan, int processes);

// execute_stage() in the leading process.
StageFunction lead_trainings(Processes& processes);

// In the others: trains until the leading one says that it is done, and with which exit code. plan:
// that of the same suite, or why there is none.
int follow_trainings(Processes& processes, const Result<Plan>& plan,
                     const std::filesystem::path& data_dir);

}  // namespace nb
