#include "harness/run/stage_metrics.hpp"

namespace nb {
namespace {

Metric make(const std::string& name, double value, const std::string& unit, Direction direction,
            std::int64_t n, Clock clock) {
  Metric metric;
  metric.name = name;
  metric.value = value;
  metric.unit = unit;
  metric.direction = direction;
  metric.clock = clock;
  metric.n = n;
  return metric;
}

}  // namespace

Metric counted(const std::string& name, double value, const std::string& unit, Direction direction,
               std::int64_t n) {
  return make(name, value, unit, direction, n, Clock::kNone);
}

Metric simulated(const std::string& name, double value, const std::string& unit,
                 Direction direction, std::int64_t n) {
  return make(name, value, unit, direction, n, Clock::kSim);
}

Metric on_host(const std::string& name, double value, const std::string& unit, Direction direction,
               std::int64_t n) {
  return make(name, value, unit, direction, n, Clock::kHost);
}

Metric unmeasured(Metric metric, const std::string& reason) {
  metric.value.reset();
  metric.reason_if_null = reason;
  return metric;
}

}  // namespace nb
