#include "harness/microbench/peak_rate.hpp"

#include <algorithm>

#include "harness/microbench/stopwatch.hpp"
#include "model/kernels/peak.hpp"

namespace nb {

constexpr double kFlop = 2e9;  // of a loop on each thread: milliseconds, far more than its start

double peak_rate_gflop_s(DType inputs) {
  double best = 0;
  for (int turn = 0; turn < 5; ++turn) {
    double flop = 0;
    const double time_s = seconds_of([&] { flop = kernels::run_peak_loop(inputs, kFlop); });
    best = std::max(best, flop / time_s);
  }
  return best * 1e-9;
}

double mean_peak_rate_gflop_s(DType inputs, double time_s) {
  double flop = 0, sum_s = 0;
  do {
    sum_s += seconds_of([&] { flop += kernels::run_peak_loop(inputs, kFlop); });
  } while (sum_s < time_s);
  return flop / sum_s * 1e-9;
}

}  // namespace nb
