// How the programs time: the host clock by Google Benchmark's own loop, the simulated clock by
// manual time with one iteration, and shares of the peak by turns. Not thread-safe.
#pragma once

#include <benchmark/benchmark.h>

#include <cstdint>
#include <functional>
#include <string>

#include "model/tensor/dtype.hpp"

namespace nb {

// An error text that begins so is a reason, not a failure: "unmeasured: one card has no
// all-reduce".
inline constexpr const char* kUnmeasured = "unmeasured: ";

// Registers "host/<name>". `prepare` makes the data, verifies a result against the reference and
// gives what to time; an empty function: it has called state.SkipWithError.
using Prepare = std::function<std::function<void()>(benchmark::State&)>;
struct HostBenchmark {
  std::string name;
  double min_time_s = 0.02;
  double flop = 0;    // of one call; 0: no rate_gflop_s, no share_of_peak
  double bytes = 0;   // read and written by one call; 0: no rate_gb_s, no share_of_bandwidth
  double tokens = 0;  // of one call; 0: no rate_tok_s
  DType inputs = DType::kBf16;
  std::function<std::function<void()>(void)> blas = {};  // OpenBLAS on the same shape; may be empty
};
void register_host(const HostBenchmark& what, const Prepare& prepare);

// Registers "sim/<name>": body gives the simulated time in ns and may set counters.
void register_simulated(const std::string& name,
                        const std::function<std::int64_t(benchmark::State&)>& body);

}  // namespace nb
