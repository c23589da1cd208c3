#include "model/collectives/cost.hpp"

#include <gtest/gtest.h>

#include <optional>
#include <utility>

#include "harness/base/check.hpp"

namespace nb {
namespace {

DeviceProfile profile(const std::string& name) { return *load_profile(name); }

LinkModel with_network(const std::string& name) {
  return link_model(profile(name).links, *parse_node_links(profile_text(name), name));
}

// Textbook: ring all-reduce of n bytes on p ranks costs 2(p−1)(α + n/(pβ)).
TEST(CollectiveCost, RingAllReduceIsItsClosedForm) {
  const LinkModel tiny = link_model(profile("tiny").links);  // α = 1 ns, 1 byte/ns
  for (const int p : {2, 3, 4, 8, 64}) {
    for (const std::uint64_t pieces : {1u, 7u, 1000u}) {
      const std::uint64_t n = pieces * static_cast<std::uint64_t>(p);
      EXPECT_EQ(collective_time_ns(OpKind::kAllReduce, tiny, n, p),
                static_cast<std::int64_t>(2 * (p - 1) * (1 + static_cast<int>(pieces))))
          << p << " " << n;
    }
  }
}

TEST(CollectiveCost, ScatterAndGatherAreEachHalfOfARingAllReduce) {
  LinkModel ring{CollectiveAlgorithm::kRing, 10, 2, 0};
  const std::int64_t all = collective_time_ns(OpKind::kAllReduce, ring, 8000, 8);
  EXPECT_EQ(collective_time_ns(OpKind::kReduceScatter, ring, 8000, 8) * 2, all);
  EXPECT_EQ(collective_time_ns(OpKind::kAllGather, ring, 8000, 8) * 2, all);
}

// hicann/hccl cost table, mesh row: 2α + (2/p)nβ + ((p−1)/p)nγ; reduce-scatter α + (1/p)nβ + …;
// all-gather α + (1/p)nβ; broadcast 2α + (2/p)nβ. α = 5 ns, 1/β = 4, 1/γ = 7 byte/ns, n = 2800, p =
// 8 by hand: nβ = 700, nγ = 400.
TEST(CollectiveCost, MeshFollowsTheVendorsTable) {
  const LinkModel mesh{CollectiveAlgorithm::kMesh, 5, 4, 7};
  EXPECT_EQ(collective_time_ns(OpKind::kAllReduce, mesh, 2800, 8), 10 + 175 + 350);
  EXPECT_EQ(collective_time_ns(OpKind::kReduceScatter, mesh, 2800, 8), 5 + 88 + 350);  // 87.5 up
  EXPECT_EQ(collective_time_ns(OpKind::kAllGather, mesh, 2800, 8), 5 + 88);
  EXPECT_EQ(collective_time_ns(OpKind::kBroadcast, mesh, 2800, 8), 10 + 175);
}

// The ring row of the same table: 2(p−1)α + 2((p−1)/p)nβ + ((p−1)/p)nγ.
TEST(CollectiveCost, RingAddsTheTimeOfSumming) {
  const LinkModel ring{CollectiveAlgorithm::kRing, 5, 4, 7};
  EXPECT_EQ(collective_time_ns(OpKind::kAllReduce, ring, 2800, 8), 70 + 1225 + 350);
}

TEST(CollectiveCost, OneRankPaysNothingAndEveryKindCostsSomething) {
  for (const char* name : {"ascend_910b3", "h100_sxm", "tiny"}) {
    const LinkModel model = link_model(profile(name).links);
    for (const OpKind kind : {OpKind::kAllReduce, OpKind::kReduceScatter, OpKind::kAllGather,
                              OpKind::kBroadcast, OpKind::kBarrier}) {
      EXPECT_EQ(collective_time_ns(kind, model, 1 << 20, 1), 0);
      EXPECT_GT(collective_time_ns(kind, model, 1 << 20, 8), 0) << name << " " << nb::name(kind);
    }
  }
  EXPECT_THROW(collective_time_ns(OpKind::kAdd, {}, 8, 2), CheckFailure);
}

// NVIDIA/nccl#1455: ring bus bandwidth of 365 to 370 GB/s on 8 H100 for large messages.
TEST(CollectiveCost, H100RingReachesItsMeasuredBusBandwidth) {
  const LinkModel ring = link_model(profile("h100_sxm").links);
  const std::uint64_t n = 8ull << 30;
  const double bus = bus_bandwidth_gb_s(OpKind::kAllReduce, n, 8,
                                        collective_time_ns(OpKind::kAllReduce, ring, n, 8));
  EXPECT_GT(bus, 363);
  EXPECT_LT(bus, 370);
}

// spec of the starting model for 8 × 910B: all-reduce algorithm bandwidth of 77 to 100 GB/s by the
// mesh formula.
TEST(CollectiveCost, AscendMeshIsWithinItsRange) {
  const LinkModel mesh = link_model(profile("ascend_910b3").links);
  const std::uint64_t n = 1ull << 30;
  const auto time = static_cast<double>(collective_time_ns(OpKind::kAllReduce, mesh, n, 8));
  const double algorithm_bandwidth = static_cast<double>(n) / time;
  EXPECT_GT(algorithm_bandwidth, 77);
  EXPECT_LT(algorithm_bandwidth, 100);
}

// NVIDIA/nccl src/graph/tuning.cc: of 2(p−1) steps of a ring over q nodes, 2(q−1) leave a node. By
// hand: p = 6 on q = 2, α = 5 and 11 ns; the ring runs at min(4, 3 × 1) = 3 byte/ns.
TEST(CollectiveCost, OneRingOverNodesIsAsFastAsItsPorts) {
  const LinkModel ring{CollectiveAlgorithm::kRing, 5, 4, 0,
                       NodeLinkModel{NodeAlgorithm::kOneRing, 11, 1}};
  const RankLayout layout{2, 3};
  EXPECT_EQ(collective_time_ns(OpKind::kAllReduce, ring, 3600, layout), 8 * 5 + 2 * 11 + 2000);
  EXPECT_EQ(collective_time_ns(OpKind::kReduceScatter, ring, 3600, layout), 4 * 5 + 11 + 1000);
  EXPECT_EQ(collective_time_ns(OpKind::kAllGather, ring, 3600, layout), 4 * 5 + 11 + 1000);
  // One card a node: the port alone, however fast the links within would be.
  EXPECT_EQ(collective_time_ns(OpKind::kAllGather, ring, 3600, RankLayout{2, 1}), 11 + 1800);
}

// HCCL user guide, hierarchical communication, with hicann/hccl's cost table. By hand: 4 cards a
// node (mesh, α = 5 ns, 4 byte/ns a link), 2 nodes (NHR, α = 60 ns, 2 byte/ns), n = 3200 bytes.
// NHR on 2 nodes: all-reduce 2α + nβ, reduce-scatter and all-gather α + nβ/2.
TEST(CollectiveCost, HierarchicalCollectivesAddTheirStepsWithinAndBetweenNodes) {
  const LinkModel mesh{CollectiveAlgorithm::kMesh, 5, 4, 0,
                       NodeLinkModel{NodeAlgorithm::kHierarchicalNhr, 60, 2}};
  const RankLayout layout{2, 4};
  // within: 5 + 800/4; between, on a quarter: 120 + 800/2; within: 5 + 800/4
  EXPECT_EQ(collective_time_ns(OpKind::kAllReduce, mesh, 3200, layout), 205 + 520 + 205);
  // between first, on all of it: 60 + 1600/2; within, on half of it: 5 + 400/4
  EXPECT_EQ(collective_time_ns(OpKind::kReduceScatter, mesh, 3200, layout), 860 + 105);
  EXPECT_EQ(collective_time_ns(OpKind::kAllGather, mesh, 3200, layout), 860 + 105);
}

TEST(CollectiveCost, ANodeOfOneCardPaysNothingWithinIt) {
  const LinkModel mesh{CollectiveAlgorithm::kMesh, 5, 4, 0,
                       NodeLinkModel{NodeAlgorithm::kHierarchicalNhr, 60, 2}};
  EXPECT_EQ(collective_time_ns(OpKind::kAllReduce, mesh, 3200, RankLayout{2, 1}), 120 + 1600);
}

TEST(CollectiveCost, SeveralNodesCostMoreThanOneForEveryKind) {
  for (const char* name : {"ascend_910b3", "h100_sxm", "tiny"}) {
    const LinkModel model = with_network(name);
    for (const OpKind kind : {OpKind::kAllReduce, OpKind::kReduceScatter, OpKind::kAllGather,
                              OpKind::kBroadcast, OpKind::kBarrier})
      EXPECT_GT(collective_time_ns(kind, model, 1 << 20, RankLayout{2, 4}),
                collective_time_ns(kind, model, 1 << 20, RankLayout{1, 8}))
          << name << " " << nb::name(kind);
  }
}

TEST(CollectiveCost, CardsFillAsFewNodesAsHoldThem) {
  const DeviceProfile h100 = profile("h100_sxm");
  for (const auto& [cards, nodes] : {std::pair{1, 1}, {8, 1}, {16, 2}, {24, 3}, {10, 2}}) {
    const Result<RankLayout> layout = lay_out_ranks(h100, cards, {}, true);
    ASSERT_TRUE(layout.has_value()) << layout.error().message;
    EXPECT_EQ(layout->nodes, nodes);
    EXPECT_EQ(layout->ranks(), cards);
  }
  EXPECT_EQ(lay_out_ranks(h100, 8, 4, true)->cards_per_node, 2);
}

TEST(CollectiveCost, WhatTheProfileDoesNotModelIsRefusedInOneSentence) {
  const DeviceProfile h100 = profile("h100_sxm");
  const auto message = [&](bool has_network, std::int64_t cards,
                           std::optional<std::int64_t> nodes) {
    const Result<RankLayout> layout = lay_out_ranks(h100, cards, nodes, has_network);
    return layout ? "accepted" : layout.error().message;
  };
  EXPECT_EQ(message(true, 20, {}),
            "20 cards of h100_sxm do not fill 3 nodes of up to 8 evenly; possible numbers of "
            "nodes: 4, 5, 10, 20");
  EXPECT_EQ(message(true, 16, 1),
            "16 cards of h100_sxm do not fill 1 node of up to 8 evenly; possible numbers of "
            "nodes: 2, 4, 8, 16");
  EXPECT_EQ(message(true, 8, 9), "9 nodes for 8 cards: 1 to 8 are possible");
  EXPECT_EQ(message(true, 0, {}), "0 cards of h100_sxm: 1 to 1048576 can be asked for");
  EXPECT_EQ(message(false, 9, {}),
            "9 cards of h100_sxm on 2 nodes: its profile has one node of up to 8 and no network "
            "between nodes (/between_nodes); give --cards 1 to 8 without --nodes");
}

}  // namespace
}  // namespace nb
