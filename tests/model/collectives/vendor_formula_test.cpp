// Collectives on the tiny device take exactly what the closed forms say, to the nanosecond, through
// the communicator that training uses; and the one published hccl_test sample beside our figure.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <cmath>

#include "model/collectives/communicator.hpp"
#include "model/collectives/cost.hpp"
#include "model/device/calibration.hpp"

namespace nb {
namespace {

// Time of one call on a fresh tiny device: alpha 1 ns, 1 byte/ns, sums are free.
template <class Call>
std::int64_t tiny_time(int ranks, int nodes, const Call& call) {
  const DeviceProfile tiny = *load_profile("tiny");
  Device device(tiny, ExecutionMode::kDry, {.ranks = ranks});
  const auto between = *parse_node_links(profile_text("tiny"), "tiny");
  const auto c = symmetric_communicator(device, ranks, nodes, between);
  call(*c);
  return device.time_ns();
}

std::int64_t log2_up(int n) {
  std::int64_t steps = 0;
  while ((1 << steps) < n) ++steps;
  return steps;
}

// hicann/hccl, cost table, row Ring: all-reduce 2(p-1)a + 2((p-1)/p)nb, reduce-scatter and
// all-gather (p-1)(a + (n/p)b). Broadcast goes in pieces, so its bytes cross once: (p-1)a + nb;
// a barrier is a tree up and down.
TEST(VendorFormula, RingOnTinyIsExact) {
  for (const int p : {2, 3, 4, 5, 7, 8, 16, 31, 64}) {
    for (const std::int64_t floats : {1, 3, 64, 1000}) {  // of a piece
      const std::int64_t piece = 4 * floats, n = p * piece, steps = p - 1;
      const CollectiveBuffer whole{p * floats, DType::kFp32}, part{floats, DType::kFp32};
      EXPECT_EQ(tiny_time(p, 1, [&](Communicator& c) { c.all_reduce(whole, Reduce::kSum, "x"); }),
                2 * steps + 2 * steps * piece);
      EXPECT_EQ(
          tiny_time(p, 1,
                    [&](Communicator& c) { c.reduce_scatter(whole, part, Reduce::kSum, "x"); }),
          steps * (1 + piece));
      EXPECT_EQ(tiny_time(p, 1, [&](Communicator& c) { c.all_gather(part, whole, "x"); }),
                steps * (1 + piece));
      EXPECT_EQ(tiny_time(p, 1, [&](Communicator& c) { c.broadcast(whole, 0, "x"); }), steps + n);
    }
    EXPECT_EQ(tiny_time(p, 1, [](Communicator& c) { c.barrier("x"); }), 2 * log2_up(p));
  }
}

// One ring over q nodes (NCCL, src/graph/tuning.cc): of its steps 2(q-1) of an all-reduce, q-1 of
// the others leave a node, with the network's alpha of 10 ns; its links stay the slowest part.
TEST(VendorFormula, RingOverNodesOnTinyIsExact) {
  for (const auto& [q, cards] : {std::pair{2, 4}, {2, 32}, {4, 2}, {8, 8}}) {
    const int p = q * cards;
    const std::int64_t floats = 100, piece = 4 * floats;
    const CollectiveBuffer whole{p * floats, DType::kFp32}, part{floats, DType::kFp32};
    const std::int64_t between = q - 1, within = p - 1 - between;
    EXPECT_EQ(tiny_time(p, q, [&](Communicator& c) { c.all_reduce(whole, Reduce::kSum, "x"); }),
              2 * (within + 10 * between) + 2 * (p - 1) * piece);
    EXPECT_EQ(tiny_time(p, q, [&](Communicator& c) { c.all_gather(part, whole, "x"); }),
              within + 10 * between + (p - 1) * piece);
  }
}

// The mesh row (all links of a rank run together) on tiny with mesh links and a rate of summing:
// all-reduce 2a + (2/p)nb + ((p-1)/p)ng, reduce-scatter a + (1/p)nb + ((p-1)/p)ng, all-gather a +
// (1/p)nb, broadcast 2a + (2/p)nb. 1/g = 2 byte/ns.
TEST(VendorFormula, MeshOnTinyIsExact) {
  LinkModel mesh = link_model(load_profile("tiny")->links);
  mesh.algorithm = CollectiveAlgorithm::kMesh;
  mesh.reduced_bytes_per_ns = 2;
  for (const int p : {2, 4, 8, 16}) {
    const std::int64_t piece = 4096, n = p * piece, summed = (p - 1) * piece / 2;
    const auto time = [&](OpKind kind) {
      return collective_time_ns(kind, mesh, static_cast<std::uint64_t>(n), p);
    };
    EXPECT_EQ(time(OpKind::kAllReduce), 2 + 2 * piece + summed);
    EXPECT_EQ(time(OpKind::kReduceScatter), 1 + piece + summed);
    EXPECT_EQ(time(OpKind::kAllGather), 1 + piece);
    EXPECT_EQ(time(OpKind::kBroadcast), 2 + 2 * piece);
  }
}

// The NHR row between nodes of one card: 2 ceil(log2 q) a + 2((q-1)/q)nb, half of it for the
// others; a = 60 ns, 2 byte/ns.
TEST(VendorFormula, NhrBetweenNodesIsExact) {
  const LinkModel model{CollectiveAlgorithm::kMesh, 5, 4, 0,
                        NodeLinkModel{NodeAlgorithm::kHierarchicalNhr, 60, 2}};
  for (const int q : {2, 3, 4, 5, 8, 16}) {
    const std::int64_t piece = 3000, n = q * piece;
    const auto time = [&](OpKind kind) {
      return collective_time_ns(kind, model, static_cast<std::uint64_t>(n), RankLayout{q, 1});
    };
    const std::int64_t half = 60 * log2_up(q) + (q - 1) * piece / 2;
    EXPECT_EQ(time(OpKind::kAllReduce), 2 * half);
    EXPECT_EQ(time(OpKind::kReduceScatter), half);
    EXPECT_EQ(time(OpKind::kAllGather), half);
  }
}

// hccl_test of the vendor's documentation, 8 ranks of an unstated part, not tuned: printed, not
// held against a limit. The call is a collective that the host launches and waits for.
TEST(VendorFormula, TheDocumentedSampleIsPrintedWithItsError) {
  int printed = 0;
  const auto rows = calibration_rows("collective");
  ASSERT_TRUE(rows) << rows.error().message;
  for (const CalibrationRow& row : *rows) {
    if (row.text("library") != "hccl" || row.unit != "us") continue;
    EXPECT_EQ(row.use, RowUse::kReport) << row.id;
    const auto ranks = static_cast<int>(**row.whole("ranks"));
    const std::int64_t bytes = **row.whole("size_bytes");
    const DeviceProfile profile = *load_profile(std::string(row.text("machine")));
    Device device(profile, ExecutionMode::kDry, {.ranks = ranks});
    const auto c = symmetric_communicator(device, ranks);
    c->all_reduce({bytes / 4, DType::kFp32}, Reduce::kSum, "x");
    device.synchronize();
    const double ours_us = 1e-3 * static_cast<double>(device.time_ns());
    fmt::print("{}: {} bytes on {} ranks: measured {:.1f} us, ours {:.1f} us ({:+.0f} %)\n", row.id,
               bytes, ranks, *row.value, ours_us, 100 * (ours_us / *row.value - 1));
    EXPECT_GT(ours_us, 0);
    EXPECT_TRUE(std::isfinite(ours_us));
    ++printed;
  }
  EXPECT_EQ(printed, 2);
}

}  // namespace
}  // namespace nb
