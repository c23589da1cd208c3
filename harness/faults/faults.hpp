// What of an evaluation can be broken on purpose, to see that the gate notices. A suite names
// faults as "<kind>:<target>" (fault_kinds.hpp). Parsed and checked before any work starts; a fault
// belongs to a node's settings and so to its key.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "evals/base/scorer_fault.hpp"
#include "evals/base/task.hpp"
#include "harness/base/result.hpp"
#include "harness/faults/fault_kinds.hpp"

namespace nb {

// kSecondBest is of an evaluation; all others are of ranks that train together (rank_fault.hpp).
struct Fault {
  FaultKind kind = FaultKind::kSecondBest;
  std::string target;  // task id
};

std::string name(const Fault& fault);  // "second_best:arc_easy"

// One of an evaluation. Errors: no colon, unknown kind (nearest one and the list), unknown task
// (nearest one), a kind that is of ranks.
Result<Fault> parse_fault(std::string_view text, const std::string& where);
Result<std::vector<Fault>> parse_faults(std::span<const std::string> texts,
                                        const std::string& where);

// An error for a fault whose task is not among the evaluated ones (ids or set names): it would test
// nothing.
Result<void> check_faults_hit(std::span<const Fault> faults, std::span<const Task> evaluated,
                              const std::string& where);

// For EvalContext::fault.
std::function<ScorerFault(std::string_view task)> scorer_faults(std::vector<Fault> faults);

}  // namespace nb
