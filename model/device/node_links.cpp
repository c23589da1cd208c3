#include "model/device/node_links.hpp"

#include <nlohmann/json.hpp>

#include "harness/base/json_io.hpp"

namespace nb {

FieldList NodeLinkProfile::fields() {
  return {{"algorithm", "of collectives over nodes", object(&algorithm), {.required = true}},
          {"latency", "of a step between nodes", object(&latency), {.required = true}},
          {"bandwidth", "of each card's network port", object(&bandwidth), {.required = true}}};
}

Result<void> check_node_links(const NodeLinkProfile& links, bool is_ring_within_node,
                              const std::string& where) {
  if (links.bandwidth.value <= 0)
    return bad_input(where + ": /between_nodes/bandwidth/value: must be above 0");
  if (links.algorithm.value == NodeAlgorithm::kOneRing && !is_ring_within_node)
    return bad_input(where +
                     ": /between_nodes/algorithm/value: \"one_ring\" needs /links/algorithm "
                     "\"ring\" too");
  return {};
}

Result<std::optional<NodeLinkProfile>> parse_node_links(std::string_view profile_json,
                                                        const std::string& where) {
  NB_TRY(const Json json, parse_json(profile_json, where));
  const auto found = json.find("between_nodes");
  if (found == json.end()) return std::optional<NodeLinkProfile>();
  NB_TRY(NodeLinkProfile links, parse_struct<NodeLinkProfile>(*found, where + ": /between_nodes"));
  return std::optional(std::move(links));
}

}  // namespace nb
