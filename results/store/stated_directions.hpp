// Which way a metric of another harness is better, where neither its file nor the table of metrics
// says it: the user does (--higher NAME, --lower NAME, a policy's "higher" and "lower").
#pragma once

#include <string>
#include <vector>

#include "harness/base/result.hpp"
#include "results/store/store.hpp"

namespace nb {

struct StatedDirections {
  // A metric ("my_score") of all tasks, or of one ("my_task/my_score").
  std::vector<std::string> higher, lower;
  bool empty() const { return higher.empty() && lower.empty(); }
};

// Gives the named metrics of imported records that direction. Errors: a name that no imported
// record of the sides has, one that is both, one whose file or table says the opposite.
Result<void> state_directions(const StatedDirections& stated, std::vector<RunRecords*> sides);

}  // namespace nb
