// What a microbenchmark program is asked for: one group of benchmarks on one emulated device.
#pragma once

#include <string>

#include "harness/base/fields.hpp"
#include "harness/suite/suite.hpp"

namespace nb {

struct MicrobenchRequest {
  std::string group;             // of microbenchmark_groups()
  DeviceEntry device;            // whose clock is simulated and whose numerics the host computes
  double min_time_s = 0.02;      // of each host-clock benchmark
  int threads = 0;               // of the host; 0: every core
  std::string pattern_off = {};  // of the host's patterns (model/host/README.md); empty: all are on

  FieldList fields();
};

}  // namespace nb
