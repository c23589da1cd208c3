// The gate as a user or a night calls it: reads both sides, judges, remembers the night. What is
// said and written is the caller's.
#pragma once

#include <string>

#include "harness/base/result.hpp"
#include "results/gate/gate.hpp"
#include "results/store/stated_directions.hpp"
#include "results/store/store.hpp"

namespace nb {

// Paths are of runs, of another harness's files, or accepted/<suite>.json.
struct GateRequest {
  std::string candidate;
  std::string baseline;  // empty: the policy's, else what was accepted last
  std::string policy;    // file; empty: the built-in one
  std::string golden;    // judged against too; empty: the policy's
  std::string control;   // the candidate computed a second time
  std::string home;   // folder of accepted/ and gates.jsonl; empty: the nearest above the candidate
  std::string night;  // its name; repeated, it replaces its line of the history
  StatedDirections directions;  // beside the policy's
  bool strict = false;
  bool forgets = false;  // no line in the history
};

// The only place where the gate reads runs.
Result<RunRecords> read_gate_side(const std::string& path);

// A night that cannot be remembered is judged all the same; why not is said on stderr.
Result<GateResult> judge(const GateRequest& request);

}  // namespace nb
