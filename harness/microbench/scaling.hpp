// How the time of a training step grows: with the layers of one width, with the depth (the width
// grows along), with the tokens, with threads; and what other numerics cost. Every step stands
// between two runs of the peak loop on the same threads, so that times can be held against each
// other although the host's speed moves; what is compared takes turns.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "harness/microbench/whole_step.hpp"
#include "harness/suite/suite.hpp"

namespace nb {

struct ScalingRequest {
  WholeStepSettings step;  // what is not varied
  DeviceEntry device;      // whose numerics the host computes; default: the first of `devices`
  std::vector<std::int64_t> layers, depths, tokens;  // what is varied, one after the other
  std::vector<int> thread_counts;                    // the first is what gains are counted from
  std::vector<DeviceEntry> devices;                  // to compare with the first of them
  // Data-parallel cards that share a step's micro-batches; the first is what others are held
  // against.
  std::vector<std::int64_t> rank_counts;
  bool patterns = false;  // a step without each pattern of model/host, and op by op
  std::int64_t rounds = 7;
  int threads = 0;  // of the host for all but thread_counts; 0: every core

  FieldList fields();
};
// An empty request, a size that no step can have: bad_input.
Result<void> check_settings(const ScalingRequest& request, const std::string& where);

// One step: its time, and the rate of the peak loop around it on the same threads.
struct TimedStep {
  double time_s = 0, peak_gflop_s = 0;
  double processor_s = 0;  // of all threads; of steps of ranks alone
};

// The rounds of one size. Shares and times at a common rate of the loop are medians of rounds.
struct ScalingPoint {
  std::int64_t size = 0;  // layers, depth or tokens
  double flop = 0;        // counted, of one step
  std::vector<TimedStep> rounds;

  double share_of_peak() const;
  double time_s(double peak_gflop_s) const;  // as if the loop had run at this rate
};

// y = start + slope x with the smallest sum of squares of relative errors; x, y > 0, two or more.
struct LineFit {
  double start = 0, slope = 0;
  double farthest = 0;  // largest |fit / y - 1|
};
LineFit fit_line(const std::vector<double>& x, const std::vector<double>& y);

// A table of the points and their fit: over size, or over the counted flop of each (`over_flop`).
std::string scaling_text(const std::string& what, const std::vector<ScalingPoint>& points,
                         bool over_flop);

// The same step done in several ways: runs[i] are the rounds of names[i].
struct Turns {
  std::vector<std::string> names;  // numbers of threads, devices, or patterns
  double flop = 0;
  std::vector<std::vector<TimedStep>> runs;
};
// Step and loop against those of names[0], and the one gain over the other: medians over rounds of
// ratios within a round.
std::string thread_gains_text(const Turns& turns);
// Shares of the peak, and over that of names[0] in the same round.
std::string devices_text(const Turns& turns);

// Times over that of names[0] in the same round.
std::string patterns_text(const Turns& turns);

// Time and processor time over those of names[0] in the same round (rank_turns.cpp).
std::string ranks_text(const Turns& turns);
// NB_CHECK: each count divides the micro-batches of a step.
Turns measure_ranks(const ScalingRequest& request, const DeviceProfile& profile);

// Measures what is asked for and prints each table to stdout as soon as it is there.
Result<void> run_scaling(const ScalingRequest& request);

}  // namespace nb
