#include "results/import/serving.hpp"

#include <algorithm>

namespace nb {

void add_measurement(ForeignRun& run, const std::string& name, double value,
                     const std::string& unit, Direction direction) {
  const auto at = std::find_if(run.metrics.begin(), run.metrics.end(),
                               [&](const Metric& one) { return one.name == name; });
  if (at != run.metrics.end()) {
    const auto n = static_cast<double>(at->n);
    at->value = (at->value.value_or(0) * n + value) / (n + 1);
    ++at->n;
    return;
  }
  Metric metric;
  metric.name = name;
  metric.value = value;
  metric.unit = unit;
  metric.direction = direction;
  metric.clock = Clock::kDevice;
  metric.n = 1;
  run.metrics.push_back(std::move(metric));
}

}  // namespace nb
