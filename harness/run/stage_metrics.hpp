// Metrics as stages make them: short forms over results/store/record.hpp.
#pragma once

#include <string>

#include "results/store/record.hpp"

namespace nb {

// Deterministic, of no clock: counts, losses.
Metric counted(const std::string& name, double value, const std::string& unit,
               Direction direction = Direction::kNone, std::int64_t n = 0);
// Of the simulated clock (memory too).
Metric simulated(const std::string& name, double value, const std::string& unit,
                 Direction direction, std::int64_t n = 0);
// Of this computer's clock: belongs into host_metrics.
Metric on_host(const std::string& name, double value, const std::string& unit, Direction direction,
               std::int64_t n = 0);
// The metric without its value.
Metric unmeasured(Metric metric, const std::string& reason);

}  // namespace nb
