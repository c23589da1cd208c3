// What a node's folder holds already, and making it ready for work. A file `working` stands in it
// from the first act of an execution to after its record: where it stands, work was interrupted and
// can go on.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "harness/plan/plan.hpp"
#include "results/store/record.hpp"

namespace nb {

enum class NodeCondition {
  kAbsent,   // nothing there
  kPartial,  // interrupted or failed: the stage goes on where it can
  kDamaged,  // a record whose files are missing or altered, or an unreadable one: starts over
  kDone,     // a record of this key with all its files: reused
};

struct NodeState {
  NodeCondition condition = NodeCondition::kAbsent;
  std::optional<Record> record;  // kDone
  std::string damage;            // kDamaged: one sentence
};

// verify: also the digests of all artifacts (reads every byte); without, that the files exist.
NodeState inspect_node(const std::filesystem::path& folder, const Node& node, bool verify);

// Leaves a folder that holds `working`, without temporaries of a killed process; for anything but
// kPartial also without old files. A readable ok record stays in any case: the new one must have
// the same results.
Result<void> begin_work(const std::filesystem::path& folder, NodeCondition condition);
// Removes what work leaves beside its results: `working` and the folder kPartialFolder.
Result<void> end_work(const std::filesystem::path& folder);

// Items of an evaluation under way (partial_items.hpp).
inline constexpr const char* kPartialFolder = "partial";

}  // namespace nb
