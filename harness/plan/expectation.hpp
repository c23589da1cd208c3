// What a node will take: time on this host, bytes on disk and in memory. Estimates from sizes and
// one measured rate, for people and for the preflight; nothing else depends on them.
#pragma once

#include <cstdint>

#include "harness/plan/plan.hpp"

namespace nb {

struct Expectation {
  double time_s = 0;
  std::uint64_t disk_bytes = 0;    // left behind in the node's folder
  std::uint64_t memory_bytes = 0;  // of this process while the node runs
};

// host_flop_s: fp32 multiply-adds of the canonical kernels on all threads together, counted as two
// (measure_host_flop_s).
Expectation expect(const Plan& plan, std::size_t node, double host_flop_s);

// A matrix product of a training step's shape, timed for about 30 ms.
double measure_host_flop_s();

}  // namespace nb
