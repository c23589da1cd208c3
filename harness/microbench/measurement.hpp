// What came out of one microbenchmark, as read from Google Benchmark's JSON.
//
// A benchmark is named "<clock>/<group>/<what>", clock host or sim; its values are the user
// counters, named with their unit: time_ns, rate_gflop_s, share_of_peak, ratio_to_openblas,
// rate_gb_s, share_of_bandwidth, rate_tok_s, bus_bandwidth_gb_s, peak_memory_bytes, and the
// oracle's loss_difference and log_prob_difference (nat, the largest). time_ns is always there.
// share_of_peak and ratio_to_openblas come from runs of product, peak loop and OpenBLAS in turn, so
// that they hold under load; ratio > 1: faster than OpenBLAS in fp32. So do share_of_bandwidth (of
// a plain copy of as many bytes), ratio_to_prefill (tokens decoded in a second to those of prompts)
// and ratio_to_unshared (scoring with and without shared prefixes).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "harness/base/result.hpp"

namespace nb {

struct Measurement {
  bool is_simulated = false;
  std::string name;              // "matmul/d4/mlp_up": without the clock
  std::int64_t repetitions = 0;  // behind the host's time; 1 on the simulated clock
  std::map<std::string, double> values;
  std::string unmeasured;  // why there are no values: "one card has no all-reduce"
};

// Unit and direction of a value's name. A name that is not in the table is our own mistake
// (NB_CHECK).
struct ValueKind {
  std::string unit;
  bool higher_is_better;
};
ValueKind value_kind(const std::string& name);

// Errors: not Google Benchmark's JSON, a benchmark without time_ns, one that found a wrong result.
Result<std::vector<Measurement>> parse_measurements(const std::string& json,
                                                    const std::string& where);

}  // namespace nb
