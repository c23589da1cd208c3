// The seam between the runner and the work: a stage executes one node in the node's own folder and
// fills its record. Stages know nothing of keys, reuse, locks or other nodes; the runner knows
// nothing of models.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "harness/plan/plan.hpp"
#include "model/train/port_defects.hpp"
#include "results/store/record.hpp"

namespace nb {

// A finished parent: its record and the folder where its artifacts lie.
struct ParentRun {
  NodeKind kind = NodeKind::kDataset;
  std::filesystem::path folder;
  Record record;
};

struct StageContext {
  const Node& node;
  std::filesystem::path folder;  // may hold partial work of a run that was killed
  std::vector<ParentRun> parents;
  std::filesystem::path data_dir;
  std::function<void(const std::string&)> log;   // one line into log.txt
  std::function<void(const std::string&)> warn;  // and on the screen, however quiet the run is
  // A training writes step_profile.hpp's files into the folder. Changes no result.
  bool profiles_host = false;

  // The parent of that kind; the plan has put exactly one there (NB_CHECK).
  const ParentRun& parent(NodeKind kind) const;
};

// Fills settings (effective), metrics, host_metrics, comparability, subject, numerics, items and
// artifacts (digest empty: computed when the record is written). The runner fills the rest. May
// throw: the node fails.
using StageFunction = std::function<Result<void>(const StageContext&, Record&)>;

// Those of the node's device, told in its log.
PortDefects tell_defects(const StageContext& context);

// Executes a node by its kind: the table of all stages (stages.cpp).
Result<void> execute_stage(const StageContext& context, Record& record);

}  // namespace nb
