#include "model/collectives/cost.hpp"

#include <fmt/format.h>

#include "harness/base/check.hpp"
#include "model/device/cost_model.hpp"

namespace nb {
namespace {

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
    case OpKind::kBarrier:
      return {static_cast<double>(2 * ceil_log2(static_cast<int>(p))), 0, 0};
    default:
      break;
  }
  NB_CHECK(false, "[collectives] {} has no ring cost", name(kind));
}

}  // namespace

LinkModel link_model(const LinkProfile& links) {
  return {links.algorithm.value, links.latency.value, links.bandwidth.value,
          links.reduce_bandwidth.value};
}

std::int64_t collective_time_ns(OpKind kind, const LinkModel& model, std::uint64_t size_bytes,
                                int ranks) {
  NB_CHECK(ranks >= 1 && model.bytes_per_ns > 0, "[collectives] {} ranks at {} GB/s", ranks,
           model.bytes_per_ns);
  if (ranks == 1) return 0;
  const Terms terms = model.algorithm == CollectiveAlgorithm::kMesh ? mesh_terms(kind, ranks)
                                                                    : ring_terms(kind, ranks);
  const auto n = static_cast<double>(size_bytes);
  double time = terms.steps * model.latency_ns + terms.sent * n / model.bytes_per_ns;
  if (model.reduced_bytes_per_ns > 0) time += terms.reduced * n / model.reduced_bytes_per_ns;
  return round_ns(time);
}

double bus_bandwidth_gb_s(OpKind kind, std::uint64_t size_bytes, int ranks, std::int64_t time_ns) {
  if (time_ns <= 0) return 0;
  const double p = ranks;
  double factor = 1;  // broadcast
  if (kind == OpKind::kAllReduce) factor = 2 * (p - 1) / p;
  if (kind == OpKind::kReduceScatter || kind == OpKind::kAllGather) factor = (p - 1) / p;
  return factor * static_cast<double>(size_bytes) / static_cast<double>(time_ns);
}

Result<void> check_ranks(const DeviceProfile& profile, int ranks) {
  const auto most = static_cast<int>(profile.links.devices.whole());
  if (ranks >= 1 && ranks <= most) return {};
  return bad_input(
      fmt::format("{} cards of {}: 1 to {} are modelled (those that are linked directly)", ranks,
                  profile.name(), most));
}

}  // namespace nb
