// The network between nodes, a profile's optional /between_nodes: how collectives run over several
// nodes, and what a step and a byte cost there. Not part of DeviceProfile, since only predictions
// over several nodes ask for it. Plain value; thread-safe.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "harness/base/fields.hpp"
#include "harness/base/result.hpp"
#include "model/device/quantity.hpp"

namespace nb {

// Over nodes: one ring through all cards of all nodes, or first within each node and then between
// them (NHR, the nonuniform hierarchical ring of HCCL).
enum class NodeAlgorithm { kOneRing, kHierarchicalNhr };

struct NodeLinkProfile {
  Sourced<NodeAlgorithm> algorithm{{"one_ring", "hierarchical_nhr"}};
  Quantity latency{"ns"};      // α, of one step that leaves the node
  Quantity bandwidth{"GB/s"};  // 1/β, of one card's network port
  FieldList fields();
};

// bad_input where a profile that has this network would contradict itself.
Result<void> check_node_links(const NodeLinkProfile& links, bool is_ring_within_node,
                              const std::string& where);

// /between_nodes of a profile's JSON (ResolvedDevice::content, profile_text); absent: more than one
// node is not modelled.
Result<std::optional<NodeLinkProfile>> parse_node_links(std::string_view profile_json,
                                                        const std::string& where);

}  // namespace nb
