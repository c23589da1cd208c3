// How trainings with planted faults ended: text for the screen, and an exit code that knows what a
// suite expects of them.
#pragma once

#include <string>

#include "harness/plan/plan.hpp"
#include "harness/run/runner.hpp"

namespace nb::cli {

struct PlantedEnds {
  std::string text;   // of the faults that ended a training, and what was not as expected
  int exit_code = 0;  // 1: not as expected; 4: a node failed; 64 as the summary's error
};
PlantedEnds planted_ends(const Plan& plan, const RunSummary& summary);
// A planted fault ended it: its text says more than the node's message.
bool is_ended_by_fault(const NodeReport& report);

}  // namespace nb::cli
