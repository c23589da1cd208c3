// Executes a plan: reuses what the store has, runs the rest parents first, records every node, goes
// on after failures. A run may be killed at any moment; the same command resumes it with the same
// bits.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "harness/plan/plan.hpp"
#include "harness/run/stage.hpp"

namespace nb {

struct RunOptions {
  std::filesystem::path results_dir;
  std::filesystem::path data_dir;
  bool fresh = false;  // reuse nothing; results that differ from the old ones are an error
  std::optional<std::size_t> only;  // run this node alone; its parents must be done
  bool quiet = false;               // no lines on stderr but about damaged files
  bool tells_nodes = true;          // false: no line where a node begins and ends
  // Other processes made the partial work that lies there for this run: it is not removed, and only
  // as long as it lies there does `fresh` make a new record of it.
  bool keeps_partial = false;
  bool profiles_host = false;  // trainings that run write where the host's time went
};

enum class NodeOutcome { kExecuted, kReused, kFailed, kSkipped };
std::string_view name(NodeOutcome outcome);

struct NodeReport {
  std::size_t node = 0;  // place in the plan
  NodeOutcome outcome = NodeOutcome::kExecuted;
  std::filesystem::path folder;
  double host_time_s = 0;
  std::string message;  // why it failed or was skipped, what was damaged, where it was resumed
  ErrorCode error = ErrorCode::kRun;  // of a node that failed
};

struct RunSummary {
  std::filesystem::path suite_folder;
  std::vector<NodeReport> nodes;  // in plan order; with `only` just that one
  int count(NodeOutcome outcome) const;
  // Of nodes that failed; kBadInput where that is all of them. None failed: none.
  std::optional<ErrorCode> error() const;
};

// An error only when nothing can be run at all (results folder not writable, a parent of `only` not
// done). A node that fails is in the summary; what depends on it is skipped.
Result<RunSummary> run_plan(const Plan& plan, const RunOptions& options,
                            const StageFunction& execute = execute_stage);

// "7 executed, 2 reused, 0 failed, 0 skipped"
std::string counts_text(const RunSummary& summary);

}  // namespace nb
