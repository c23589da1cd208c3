// The trainings of an earlier run whose checkpoints are still there, so that a later one can
// evaluate them again.
#pragma once

#include <vector>

#include "harness/plan/work.hpp"
#include "results/store/store.hpp"

namespace nb {

struct FinishedTrainings {
  std::vector<FinishedTraining> found;  // in the order of the records
  std::size_t removed = 0;              // their checkpoint or tokenizer is not there any more
};
FinishedTrainings finished_trainings(const RunRecords& run);

}  // namespace nb
