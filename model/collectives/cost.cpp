#include "model/collectives/cost.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "harness/base/check.hpp"
#include "model/device/cost_model.hpp"

namespace nb {
namespace {

constexpr std::int64_t kMaxCards = 1 << 20;  // ranks are counted in int

// hicann/hccl docs, constraints (910A server): two rings of four cards, of which no collective
// takes another part.
constexpr std::string_view kServer910a = "ascend_910a";
constexpr std::array<std::int64_t, 4> kGroupsOf910a = {1, 2, 4, 8};

// Steps of a binary tree over p ranks.
int ceil_log2(int ranks) {
  int steps = 0;
  for (int reached = 1; reached < ranks; reached *= 2) ++steps;
  return steps;
}

struct Terms {
  double steps = 0;    // × α
  double sent = 0;     // × n β
  double reduced = 0;  // × n γ
};

// hicann/hccl documentation, cost table. Mesh: all links of a rank run together, so a step moves
// n/p at the rate of one link.
Terms mesh_terms(OpKind kind, double p) {
  const double kept = (p - 1) / p;
  switch (kind) {
    case OpKind::kAllReduce:
      return {2, 2 / p, kept};
    case OpKind::kReduceScatter:
      return {1, 1 / p, kept};
    case OpKind::kAllGather:
      return {1, 1 / p, 0};
    case OpKind::kBroadcast:
      return {2, 2 / p, 0};
    case OpKind::kAllToAll:
      return {1, 1 / p, 0};
    case OpKind::kSendReceive:
      return {1, 1, 0};
    case OpKind::kBarrier:
      return {1, 0, 0};
    default:
      break;
  }
  NB_CHECK(false, "[collectives] {} has no mesh cost", name(kind));
}

// Broadcast and barrier go round the ring as a pipeline of pieces: p − 1 steps, every byte once.
Terms ring_terms(OpKind kind, double p) {
  const double kept = (p - 1) / p;
  switch (kind) {
    case OpKind::kAllReduce:
      return {2 * (p - 1), 2 * kept, kept};
    case OpKind::kReduceScatter:
      return {p - 1, kept, kept};
    case OpKind::kAllGather:
      return {p - 1, kept, 0};
    case OpKind::kBroadcast:
      return {p - 1, 1, 0};
    case OpKind::kAllToAll:
      return {p - 1, kept, 0};
    case OpKind::kSendReceive:
      return {1, 1, 0};
    case OpKind::kBarrier:
      return {static_cast<double>(2 * ceil_log2(static_cast<int>(p))), 0, 0};
    default:
      break;
  }
  NB_CHECK(false, "[collectives] {} has no ring cost", name(kind));
}

// hicann/hccl documentation, cost table, row NHR, over q nodes.
Terms nhr_terms(OpKind kind, int q) {
  const double kept = (q - 1.0) / q;
  const double steps = ceil_log2(q);
  switch (kind) {
    case OpKind::kAllReduce:
      return {2 * steps, 2 * kept, kept};
    case OpKind::kReduceScatter:
      return {steps, kept, kept};
    case OpKind::kAllGather:
      return {steps, kept, 0};
    case OpKind::kBroadcast:
      return {2 * steps, 2 * kept, 0};
    case OpKind::kBarrier:
      return {steps, 0, 0};
    default:
      break;
  }
  NB_CHECK(false, "[collectives] {} has no NHR cost", name(kind));
}

// Steps of a ring over q nodes that leave a node; the others stay within.
double steps_between(OpKind kind, int q) {
  if (kind == OpKind::kAllReduce) return 2.0 * (q - 1);
  if (kind == OpKind::kBarrier) return 2.0 * ceil_log2(q);
  return q - 1.0;
}

double time_of(const Terms& terms, double bytes, double latency_ns, double bytes_per_ns,
               double reduced_bytes_per_ns) {
  double time = terms.steps * latency_ns + terms.sent * bytes / bytes_per_ns;
  if (reduced_bytes_per_ns > 0) time += terms.reduced * bytes / reduced_bytes_per_ns;
  return time;
}

double within_node_ns(OpKind kind, const LinkModel& model, double bytes, int ranks) {
  if (ranks == 1) return 0;
  const Terms terms = model.algorithm == CollectiveAlgorithm::kMesh ? mesh_terms(kind, ranks)
                                                                    : ring_terms(kind, ranks);
  return time_of(terms, bytes, model.latency_ns, model.bytes_per_ns, model.reduced_bytes_per_ns);
}

double one_ring_ns(OpKind kind, const LinkModel& model, double bytes, const RankLayout& layout) {
  const NodeLinkModel& between = *model.between_nodes;
  const Terms terms = ring_terms(kind, layout.ranks());
  const double ports = layout.cards_per_node * between.bytes_per_ns;
  const double rate = layout.cards_per_node == 1 ? ports : std::min(model.bytes_per_ns, ports);
  const double outside = steps_between(kind, layout.nodes);
  return time_of(terms, bytes, model.latency_ns, rate, model.reduced_bytes_per_ns) +
         outside * (between.latency_ns - model.latency_ns);
}

double hierarchical_ns(OpKind kind, const LinkModel& model, double bytes,
                       const RankLayout& layout) {
  const auto within = [&](OpKind step, double size) {
    return within_node_ns(step, model, size, layout.cards_per_node);
  };
  const auto between = [&](OpKind step, double size) {
    return time_of(nhr_terms(step, layout.nodes), size, model.between_nodes->latency_ns,
                   model.between_nodes->bytes_per_ns, model.reduced_bytes_per_ns);
  };
  switch (kind) {
    case OpKind::kAllReduce:
      return within(OpKind::kReduceScatter, bytes) +
             between(OpKind::kAllReduce, bytes / layout.cards_per_node) +
             within(OpKind::kAllGather, bytes);
    case OpKind::kReduceScatter:
    case OpKind::kAllGather:  // the same two steps, in the other order
      return between(kind, bytes) + within(kind, bytes / layout.nodes);
    default:
      return between(kind, bytes) + within(kind, bytes);
  }
}

// "--nodes 4, 5, 10 or 20": the numbers of nodes that hold so many cards evenly.
std::string possible_nodes(std::int64_t cards, std::int64_t most_per_node) {
  std::vector<std::int64_t> nodes;
  for (std::int64_t n = 1; n <= cards; ++n)
    if (cards % n == 0 && cards / n <= most_per_node) nodes.push_back(n);
  return fmt::format("{}", fmt::join(nodes, ", "));
}

}  // namespace

LinkModel link_model(const LinkProfile& links,
                     const std::optional<NodeLinkProfile>& between_nodes) {
  LinkModel model{links.algorithm.value, links.latency.value, links.bandwidth.value,
                  links.reduce_bandwidth.value};
  if (between_nodes)
    model.between_nodes =
        NodeLinkModel{between_nodes->algorithm.value, between_nodes->latency.value,
                      between_nodes->bandwidth.value};
  return model;
}

std::int64_t collective_time_ns(OpKind kind, const LinkModel& model, std::uint64_t size_bytes,
                                const RankLayout& layout) {
  NB_CHECK(layout.nodes >= 1 && layout.cards_per_node >= 1 && model.bytes_per_ns > 0,
           "[collectives] {} nodes of {} cards at {} GB/s", layout.nodes, layout.cards_per_node,
           model.bytes_per_ns);
  const auto bytes = static_cast<double>(size_bytes);
  if (layout.nodes == 1) return round_ns(within_node_ns(kind, model, bytes, layout.cards_per_node));
  NB_CHECK(model.between_nodes.has_value(), "[collectives] {} nodes without a network",
           layout.nodes);
  return round_ns(model.between_nodes->algorithm == NodeAlgorithm::kOneRing
                      ? one_ring_ns(kind, model, bytes, layout)
                      : hierarchical_ns(kind, model, bytes, layout));
}

std::int64_t collective_time_ns(OpKind kind, const LinkModel& model, std::uint64_t size_bytes,
                                int ranks) {
  return collective_time_ns(kind, model, size_bytes, RankLayout{1, ranks});
}

double sent_bytes_of(OpKind kind, std::uint64_t size_bytes, int ranks) {
  const auto bytes = static_cast<double>(size_bytes);
  const double share = bytes * (ranks - 1) / ranks;
  switch (kind) {
    case OpKind::kAllReduce:
      return 2 * share;
    case OpKind::kReduceScatter:
    case OpKind::kAllGather:
    case OpKind::kAllToAll:
      return share;
    case OpKind::kBroadcast:
    case OpKind::kSendReceive:
      return bytes;
    default:
      return 0;
  }
}

double bus_bandwidth_gb_s(OpKind kind, std::uint64_t size_bytes, int ranks, std::int64_t time_ns) {
  if (time_ns <= 0) return 0;
  const double p = ranks;
  double factor = 1;  // broadcast, a transfer
  if (kind == OpKind::kAllReduce) factor = 2 * (p - 1) / p;
  if (kind == OpKind::kReduceScatter || kind == OpKind::kAllGather || kind == OpKind::kAllToAll)
    factor = (p - 1) / p;
  return factor * static_cast<double>(size_bytes) / static_cast<double>(time_ns);
}

Result<RankLayout> lay_out_ranks(const DeviceProfile& profile, std::int64_t cards,
                                 std::optional<std::int64_t> nodes, bool has_network) {
  const std::int64_t per_node = profile.links.devices.whole();
  if (cards < 1 || cards > kMaxCards)
    return bad_input(
        fmt::format("{} cards of {}: 1 to {} can be asked for", cards, profile.name(), kMaxCards));
  if (nodes && (*nodes < 1 || *nodes > cards))
    return bad_input(
        fmt::format("{} nodes for {} cards: 1 to {} are possible", *nodes, cards, cards));
  const std::int64_t count = nodes.value_or((cards + per_node - 1) / per_node);
  if (count > 1 && !has_network)
    return bad_input(fmt::format(
        "{} cards of {} on {} nodes: its profile has one node of up to {} and no network between "
        "nodes (/between_nodes); give --cards 1 to {} without --nodes",
        cards, profile.name(), count, per_node, per_node));
  if (cards % count != 0 || cards / count > per_node)
    return bad_input(fmt::format(
        "{} cards of {} do not fill {} node{} of up to {} evenly; possible numbers of nodes: {}",
        cards, profile.name(), count, count == 1 ? "" : "s", per_node,
        possible_nodes(cards, per_node)));
  if (profile.name() == kServer910a && std::ranges::count(kGroupsOf910a, cards / count) == 0)
    return bad_input(
        fmt::format("{} cards of {} on {} node{}: its server's collectives take {} of them", cards,
                    profile.name(), count, count == 1 ? "" : "s", fmt::join(kGroupsOf910a, ", ")));
  return RankLayout{static_cast<int>(count), static_cast<int>(cards / count)};
}

}  // namespace nb
