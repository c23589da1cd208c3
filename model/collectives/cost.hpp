// α–β cost of collectives, closed form. n bytes on p ranks, α the latency of a step, β⁻¹ the
// bandwidth, γ⁻¹ the rate of summing. Formulas of HCCL's documentation (hicann/hccl, algorithm
// costs), which are the textbook ones: ring all-reduce 2(p−1)α + 2((p−1)/p)nβ + ((p−1)/p)nγ. Pure
// functions.
#pragma once

#include <cstdint>

#include "harness/base/result.hpp"
#include "model/device/op_desc.hpp"
#include "model/device/profile.hpp"

namespace nb {

struct LinkModel {
  CollectiveAlgorithm algorithm = CollectiveAlgorithm::kRing;
  double latency_ns = 0;            // α
  double bytes_per_ns = 1;          // 1/β = GB/s; mesh: of each link, all links run together
  double reduced_bytes_per_ns = 0;  // 1/γ; 0: free
};
LinkModel link_model(const LinkProfile& links);

// kind: kAllReduce, kReduceScatter, kAllGather, kBroadcast or kBarrier; size_bytes: of the whole
// vector (all ranks' pieces together for reduce-scatter and all-gather). One rank: 0.
std::int64_t collective_time_ns(OpKind kind, const LinkModel& model, std::uint64_t size_bytes,
                                int ranks);

// Busbandwidth as nccl-tests defines it, from a measured or modelled time: GB/s.
double bus_bandwidth_gb_s(OpKind kind, std::uint64_t size_bytes, int ranks, std::int64_t time_ns);

// Are so many ranks modelled for this device? Says the largest number that is.
Result<void> check_ranks(const DeviceProfile& profile, int ranks);

}  // namespace nb
