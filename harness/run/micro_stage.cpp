#include <nlohmann/json.hpp>

#include "harness/base/parallel.hpp"
#include "harness/microbench/measurement.hpp"
#include "harness/microbench/programs.hpp"
#include "harness/run/device_card.hpp"
#include "harness/run/stage_metrics.hpp"
#include "harness/run/stages.hpp"

namespace nb {
namespace {

Metric metric_of(const Measurement& measurement, const std::string& value_name, double value) {
  const ValueKind kind = value_kind(value_name);
  const Direction direction = kind.higher_is_better ? Direction::kHigher : Direction::kLower;
  const std::string name = measurement.name + "/" + value_name;
  return measurement.is_simulated
             ? simulated(name, value, kind.unit, direction, measurement.repetitions)
             : on_host(name, value, kind.unit, direction, measurement.repetitions);
}

}  // namespace

Result<void> run_micro(const MicroWork& work, const StageContext& context, Record& record) {
  NB_TRY(const ResolvedDevice device, resolve_device(work.device, "device"));
  // Groups there are of every use, and of several cards.
  describe_device(device, kUses, /*cards=*/2, record);
  const MicrobenchRequest request{.group = work.benchmark.name,
                                  .device = work.device,
                                  .min_time_s = work.benchmark.min_time_s,
                                  .threads = threads()};
  NB_TRY(const std::vector<Measurement> measurements, run_microbench_child(request));
  for (const Measurement& measurement : measurements) {
    auto& list = measurement.is_simulated ? record.metrics : record.host_metrics;
    if (!measurement.unmeasured.empty()) {
      list.push_back(unmeasured(metric_of(measurement, "time_ns", 0), measurement.unmeasured));
      context.log(measurement.name + " unmeasured: " + measurement.unmeasured);
    }
    for (const auto& [name, value] : measurement.values)
      list.push_back(metric_of(measurement, name, value));
  }
  return {};
}

}  // namespace nb
