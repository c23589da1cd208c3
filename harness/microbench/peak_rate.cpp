#include "harness/microbench/peak_rate.hpp"

#include <algorithm>
#include <chrono>

#include "model/kernels/peak.hpp"

namespace nb {

double peak_rate_gflop_s(DType inputs) {
  using Clock = std::chrono::steady_clock;
  double best = 0;
  for (int turn = 0; turn < 5; ++turn) {
    const auto start = Clock::now();
    const double flop = kernels::run_peak_loop(inputs, 2e9);
    const std::chrono::duration<double, std::nano> time = Clock::now() - start;
    best = std::max(best, flop / time.count());
  }
  return best;
}

}  // namespace nb
