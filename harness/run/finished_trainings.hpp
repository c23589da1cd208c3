// The trainings of an earlier run whose checkpoints are still there, so that a later one can
// evaluate them again.
#pragma once

#include <vector>

#include "harness/plan/work.hpp"
#include "results/store.hpp"

namespace nb {

// In the order of the records. Left out: those whose checkpoint or tokenizer has been removed.
std::vector<FinishedTraining> finished_trainings(const RunRecords& run);

}  // namespace nb
