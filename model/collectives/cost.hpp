// α–β cost of collectives, closed form. n bytes on p ranks, α the latency of a step, β⁻¹ the
// bandwidth, γ⁻¹ the rate of summing. Formulas of HCCL's documentation (hicann/hccl, algorithm
// costs), which are the textbook ones: ring all-reduce 2(p−1)α + 2((p−1)/p)nβ + ((p−1)/p)nγ. Over
// several nodes:
// - one_ring (NCCL, src/graph/tuning.cc): a ring through all cards. Of its steps 2(q−1) of an
//   all-reduce, q−1 of the others, on q nodes, leave a node; the ring is as fast as its links or
//   as the network ports of a node's cards together.
// - hierarchical_nhr (HCCL user guide, "Hierarchical Communication Principles"): all-reduce is
//   reduce-scatter within the node, all-reduce between nodes, all-gather within; reduce-scatter
//   goes between nodes first, all-gather within first, so that pieces stay in rank order.
// Pure functions.
#pragma once

#include <cstdint>
#include <optional>

#include "harness/base/result.hpp"
#include "model/device/node_links.hpp"
#include "model/device/op_desc.hpp"
#include "model/device/profile.hpp"

namespace nb {

struct NodeLinkModel {
  NodeAlgorithm algorithm = NodeAlgorithm::kHierarchicalNhr;
  double latency_ns = 0;    // α of a step between nodes
  double bytes_per_ns = 1;  // 1/β of one card's network port
};

struct LinkModel {
  CollectiveAlgorithm algorithm = CollectiveAlgorithm::kRing;
  double latency_ns = 0;            // α
  double bytes_per_ns = 1;          // 1/β = GB/s; mesh: of each link, all links run together
  double reduced_bytes_per_ns = 0;  // 1/γ; 0: free
  std::optional<NodeLinkModel> between_nodes = {};
};
LinkModel link_model(const LinkProfile& links,
                     const std::optional<NodeLinkProfile>& between_nodes = {});

// Where the ranks are: every node has the same number of cards.
struct RankLayout {
  int nodes = 1;
  int cards_per_node = 1;
  int ranks() const { return nodes * cards_per_node; }
};

// kind: a collective; size_bytes: of the whole vector (all ranks' pieces together for
// reduce-scatter and all-gather, all pieces of one rank for all-to-all, what is sent for a
// transfer). All-to-all is pairwise: p − 1 steps of a piece each, on a mesh all at once. One rank:
// 0. More than one node needs model.between_nodes, and no all-to-all or transfer (NB_CHECK).
std::int64_t collective_time_ns(OpKind kind, const LinkModel& model, std::uint64_t size_bytes,
                                const RankLayout& layout);
// All ranks in one node.
std::int64_t collective_time_ns(OpKind kind, const LinkModel& model, std::uint64_t size_bytes,
                                int ranks);

// What one rank sends in a collective of the whole vector, size_bytes, with ring-optimal
// algorithms: (p − 1)/p of it, of an all-reduce twice that; of a broadcast or a transfer all of it.
double sent_bytes_of(OpKind kind, std::uint64_t size_bytes, int ranks);

// Busbandwidth as nccl-tests defines it, from a measured or modelled time: GB/s.
double bus_bandwidth_gb_s(OpKind kind, std::uint64_t size_bytes, int ranks, std::int64_t time_ns);

// How `cards` stand in `nodes` nodes; without `nodes`, in as few as hold them. bad_input with what
// is possible: more cards than a node has where the profile knows no network between nodes, or
// cards that do not fill the nodes evenly.
Result<RankLayout> lay_out_ranks(const DeviceProfile& profile, std::int64_t cards,
                                 std::optional<std::int64_t> nodes, bool has_network);

}  // namespace nb
