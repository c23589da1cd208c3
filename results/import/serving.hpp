// What the readers of serving benchmarks share: a load (rate, concurrency) is a run of its own, its
// rates and latencies are metrics on the device's clock.
#pragma once

#include <string>

#include "results/foreign/foreign.hpp"

namespace nb {

// A second measurement of the same load makes the mean of both, with their number as n.
void add_measurement(ForeignRun& run, const std::string& name, double value,
                     const std::string& unit, Direction direction);

}  // namespace nb
