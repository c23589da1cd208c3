// A plan: the suite expanded into nodes, parents before children, each with a content key. Same
// suite, same data, same code: same plan. Makes nothing on disk and runs nothing.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "harness/plan/work.hpp"

namespace nb {

struct Node {
  Work work;
  std::string label;  // what it is, free of device and seed: "base", "base.core", "d20-c8-b8"
  std::string name;   // "train-base-ascend_910b3-s1"; unique in the plan
  std::string key;    // 64 hex digits; decides reuse
  std::string key_without_faults = {};  // of a training whose ranks meet planted faults; else empty
  std::vector<std::size_t> parents;     // places in Plan::nodes, each smaller than this node's
  NodeKind kind() const { return static_cast<NodeKind>(work.index()); }
};

struct Plan {
  std::string suite;  // its name
  std::vector<Node> nodes;
  // Nodes of other plans stand beside these in the folder and count as much: no list of nodes says
  // otherwise.
  bool shares_folder = false;

  // The node of that name, or whose key begins with `key` (at least 4 digits).
  Result<std::size_t> find(std::string_view key) const;
};

struct PlanOptions {
  std::filesystem::path data_dir;   // below which text sources lie
  std::vector<std::string> faults;  // planted in the evaluations and ranks that they concern
  // Of an earlier run: what evaluations with of_baseline look at again.
  std::vector<FinishedTraining> finished = {};
};

// Before the label of a node that evaluates a finished training: "accepted.sft.chat".
inline constexpr std::string_view kAcceptedPrefix = "accepted.";

// `where` names the suite in messages. Errors: a text source that is nowhere, a fault that concerns
// no node.
Result<Plan> make_plan(const Suite& suite, const PlanOptions& options, const std::string& where);

// SHA-256 of kind, hashed settings, device content, parents' keys and the code that the kind links.
// device_content: ResolvedDevice::content, empty for kinds without a device.
std::string node_key(const Work& work, const std::vector<std::string>& parent_keys,
                     const std::string& device_content);

}  // namespace nb
